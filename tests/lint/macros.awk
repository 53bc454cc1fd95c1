# macros.awk - counts the loops that macros make of macros, and fails where there
# are more than there were, or where they are more layers deep.
#
#     awk -f tests/lint/macros.awk [-v list=1] FILE...
#
# A macro whose body has a loop is one layer.  A macro whose body invokes another
# one that makes a loop, in the same file or in any header, is a layer deeper, and
# nobody who reads it sees what is compiled.  A list that is given the macro to
# expand its rows by, ROWS(X, FLOAT, float), has no loops itself.  Whoever takes a
# macro away lowers `allowed`; list=1 prints each with its layers.

BEGIN {
    allowed = 31
    deepest = 3
}

FNR == 1 { inside = 0 }

/^# *define +[A-Za-z_0-9]+\(/ {
    name = $0
    sub(/^# *define +/, "", name)
    sub(/\(.*/, "", name)
    scope = FILENAME ~ /h$/ ? "" : FILENAME
    key = scope SUBSEP name
    if (!(key in body)) {
        keys[++count] = key
        file[key] = FILENAME
    }
    inside = 1
    text = $0
    sub(/^# *define +[A-Za-z_0-9]+\([^)]*\)/, "", text)
    body[key] = body[key] " " text
    if (text !~ /\\$/)
        inside = 0
    next
}

inside {
    body[key] = body[key] " " $0
    inside = $0 ~ /\\$/
}

function layers(key,    text, word, most, n, part, called) {
    if (key in known)
        return known[key]
    known[key] = 0 # a macro that names itself is not expanded again
    text = body[key]
    gsub(/while *\(0\)/, "", text) # no loop: one statement
    most = text ~ /(^|[^A-Za-z_0-9])(for|while) *\(/ ? 1 : 0
    while (match(text, /[A-Za-z_][A-Za-z_0-9]* *\(/)) {
        word = substr(text, RSTART, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        part = split(key, scope_of, SUBSEP)
        called = scope_of[1] SUBSEP word
        if (!(called in body))
            called = SUBSEP word
        if (!(called in body) || called == key)
            continue
        n = layers(called)
        if (n && n + 1 > most)
            most = n + 1
    }
    return known[key] = most
}

END {
    for (i = 1; i <= count; i++) {
        n = layers(keys[i])
        if (n < 2)
            continue
        deep++
        if (list) {
            split(keys[i], parts, SUBSEP)
            print n, file[keys[i]], parts[2]
        }
        if (n > deepest) {
            split(keys[i], parts, SUBSEP)
            printf "%s: %s makes loops %d layers deep; at most %d\n", \
                   file[keys[i]], parts[2], n, deepest
            bad = 1
        }
    }
    if (list)
        print deep " in all"
    if (deep > allowed) {
        printf "%d macros make loops of macros; at most %d (list=1)\n", deep, allowed
        bad = 1
    }
    exit bad
}
