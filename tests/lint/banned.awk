# banned.awk - calls that have no bound, no error or no place here.

BEGIN {
    why["strcpy"] = "no bound: use snprintf or memcpy"
    why["strcat"] = why["strcpy"]
    why["sprintf"] = why["strcpy"]
    why["vsprintf"] = why["strcpy"]
    why["gets"] = why["strcpy"]
    why["alloca"] = "no bound: use an arena"
    why["atoi"] = "no error: use strtoll and check"
    why["atol"] = why["atoi"]
    why["atof"] = why["atoi"]
    why["abort"] = "use assert for invariants, a status for input"
    why["rand"] = "not random"
    why["usleep"] = "nothing here waits by sleeping"
    why["sleep"] = why["usleep"]
    why["system"] = "no shell"
    why["strtok"] = "not reentrant"
}

/^[ \t]*\/?\*/ { next } # comments

{
    code = $0
    gsub(/"([^"\\]|\\.)*"/, "", code)
    sub(/\/\*.*/, "", code)
    while (match(code, /[A-Za-z_][A-Za-z_0-9]*\(/)) {
        name = substr(code, RSTART, RLENGTH - 1)
        if (name in why) {
            printf "%s:%d: %s(): %s\n", FILENAME, FNR, name, why[name]
            bad = 1
        }
        code = substr(code, RSTART + RLENGTH)
    }
    if ($0 ~ /TODO|FIXME|XXX/) {
        printf "%s:%d: unfinished work needs an issue\n", FILENAME, FNR
        bad = 1
    }
}

END { exit bad }
