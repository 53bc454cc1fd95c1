# links.awk - see links.  Reads the names of all files; after "== names" all
# names of our own in the sources; after "== pages" each page, behind a line
# "== NAME".
#
# An anchor is a heading as GitHub writes it: lower case, blanks as dashes,
# other punctuation left out.  A path is what begins with a folder of the top
# level; one with <, * or { in it is a pattern, and build/ is not there yet.

$0 == "== names" { in_names = 1; next }
in_names && $0 == "== pages" { in_names = 0; in_pages = 1; next }
in_names { known[$0] = 1; next }

!in_pages {
    exists[$0] = 1
    count = split($0, part, "/")
    name = ""
    for (i = 1; i < count; i++) {
        name = name (i > 1 ? "/" : "") part[i]
        exists[name] = exists[name "/"] = 1
    }
    if (count > 1)
        top[part[1]] = 1
    next
}

/^== / { page = substr($0, 4); number = 0; code = 0; next }

{ number++ }
/^ *```/ { code = !code; next }
!code && /^#+ / { add_heading($0) }
!code { find_links($0) }
{ gsub(/\]\([^)]*\)/, "]"); find_paths($0); find_names($0) }

function add_heading(text) {
    sub(/^#+ +/, "", text)
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    heading[page "#" text] = 1
}

function find_links(text,    target) {
    while (match(text, /\]\([^)]*\)/)) {
        target = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        if (target !~ /^[a-z]+:/)
            add_link(target)
    }
}

function add_link(target) {
    links++
    link[links] = target
    from[links] = page
    line[links] = number
}

function find_paths(text,    path, first) {
    while (match(text, /[A-Za-z0-9_.@<>*{}-]+(\/[A-Za-z0-9_.@<>*{},-]*)+/)) {
        path = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/[.,]+$/, "", path)
        split(path, part, "/")
        first = part[1]
        if (first in top && path !~ /[<>*{}]/ && !(path in exists))
            complain(page, number, "there is no " path)
    }
}

# Functions, types and metrics.
function find_names(text,    name) {
    while (match(text, /tfd_[a-z0-9_]+[<*]?/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (name !~ /[_<*]$/ && !(name in known))
            complain(page, number, "there is no " name)
    }
}

function complain(page, number, text) {
    print page ":" number ": " text
    bad = 1
}

# The page that a link leads to, from the folder of the page it is on.
function resolve(page, target,    count, part, kept, depth, i, path) {
    sub(/[^\/]*$/, "", page)
    count = split(page target, part, "/")
    for (i = 1; i <= count; i++) {
        if (part[i] == "..")
            depth--
        else if (part[i] != "." && part[i] != "")
            kept[++depth] = part[i]
        if (depth < 0)
            return "(outside of the repository)"
    }
    for (i = 1; i <= depth; i++)
        path = path (i > 1 ? "/" : "") kept[i]
    return path
}

function check_link(i,    target, anchor, path) {
    target = link[i]
    anchor = ""
    if (match(target, /#/)) {
        anchor = substr(target, RSTART + 1)
        target = substr(target, 1, RSTART - 1)
    }
    path = target == "" ? from[i] : resolve(from[i], target)
    if (!(path in exists))
        complain(from[i], line[i], "the link " link[i] " leads nowhere")
    else if (anchor != "" && !((path "#" anchor) in heading))
        complain(from[i], line[i], path " has no heading #" anchor)
}

END {
    for (i = 1; i <= links; i++)
        check_link(i)
    exit bad
}
