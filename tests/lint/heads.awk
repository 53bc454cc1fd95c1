# heads.awk - the head of a header is its contract: a first comment that begins with
# the file's name and what it is, and says which threads may use it.
#
#     awk -f tests/lint/heads.awk FILE...

function report() {
    if (file !~ /h$/)
        return
    if (!named) {
        print file ": the first comment does not begin with \"" base " - ...\""
        bad = 1
    } else if (!threads) {
        print file ": the head does not say \"Threads: ...\""
        bad = 1
    }
}

FNR == 1 {
    report()
    file = base = FILENAME
    sub(/.*\//, "", base)
    named = threads = done = 0
}

!done && index($0, " * " base " - ") == 1 { named = 1 }
!done && /[Tt]hreads/ { threads = 1 }
/\*\// { done = 1 }

END {
    report()
    exit bad
}
