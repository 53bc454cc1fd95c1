# statics.awk - fails when the name of a static function stands in more than four
# files: a backtrace, a breakpoint or a profile would not say which it is.
#
#     awk -f tests/lint/statics.awk FILE...

BEGIN { most = 4 }

# The name may be on the line below the type.
/^static / { waits = 1 }

waits && match($0, /[A-Za-z_][A-Za-z_0-9]*\(/) {
    name = substr($0, RSTART, RLENGTH - 1)
    waits = 0
    if (name !~ /^(__attribute__|[A-Z_0-9]+)$/ && !((name, FILENAME) in seen)) {
        seen[name, FILENAME] = 1
        count[name]++
        files[name] = files[name] " " FILENAME
    }
}

/[;={]/ { waits = 0 }

END {
    for (name in count)
        if (count[name] > most) {
            print name "() is static in " count[name] " files, at most " most \
                  " may have one name:" files[name]
            bad = 1
        }
    exit bad
}
