# lengths.awk - refuses functions over 70 lines, files over 600 and lines over
# 80 columns.
#
# clang-format puts the opening brace of a function, and only of a function, at
# the start of a line, and its closing one too.

FNR == 1 {
    if (lines > 600)
        complain(file ": " lines " lines; a file has at most 600")
    file = FILENAME
    begin = 0
}

{ lines = FNR }

length($0) > 80 { complain(FILENAME ":" FNR ": over 80 columns") }
/^\{/ { begin = FNR }
/^\}/ {
    if (begin && FNR - begin - 1 > 70)
        complain(FILENAME ":" begin ": function of " FNR - begin - 1 \
                 " lines; at most 70")
    begin = 0
}

function complain(text) {
    print text
    bad = 1
}

END {
    if (lines > 600)
        complain(file ": " lines " lines; a file has at most 600")
    exit bad
}
