# macros.awk - loops that macros make of macros: none.
#
#     awk -f tests/lint/macros.awk [-v list=1] FILE...
#
# A macro whose body has a loop is one layer, and that is allowed.  A macro whose
# body invokes another one that makes a loop, in the same file or in any header, is
# a layer deeper, and nobody who reads it sees what is compiled.  In its place stands
# an inline function that is given a function (kernels/core/elementwise.h), or a list
# that is given the macro to expand its rows by, ROWS(X, FLOAT, float), which has no
# loops itself.  gcc makes the same instructions of them; a macro that is proved to
# need a second layer for its speed gets a row here, with the figure:
#
#     allowed["kernels/room/file.c" SUBSEP "MACRO"] = 2 # 1.3 times as fast
#
# list=1 prints each macro of two layers and more.

BEGIN {
    deepest = 1
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
        split(keys[i], parts, SUBSEP)
        most = deepest
        if ((file[keys[i]], parts[2]) in allowed)
            most = allowed[file[keys[i]], parts[2]]
        if (list && n > 1)
            print n, file[keys[i]], parts[2]
        if (n > most) {
            printf "%s: %s makes loops %d layers deep; at most %d\n", \
                   file[keys[i]], parts[2], n, most
            bad = 1
        }
    }
    exit bad
}
