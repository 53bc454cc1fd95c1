# circles.awk - reads `nm -A -g OBJECT...`; see circles.
#
# Objects that reach each other are found by Tarjan's algorithm: a depth-first
# search gives each a number, and `low` is the smallest number that can be
# reached from it.  One inversion is meant: kernels call what
# kernels/core/runtime.h declares and the worker defines.

BEGIN { most = 3 }

{
    split($0, part, ":")
    object = part[1]
    objects[object] = 1
    count = split(substr($0, length(object) + 2), word, " ")
    if (count == 3 && word[2] ~ /^[TDBRVWC]$/) {
        if (!(word[3] in home))
            home[word[3]] = object
    } else if (word[1] ~ /^[Uw]$/) {
        needs[object] = needs[object] " " word[2]
    }
}

function is_meant(from, to) {
    return from ~ /\/kernels\// && to ~ /\/daemon\/worker\//
}

# What `object` needs, as neighbours[object, 1..degree[object]].
function connect(object,    i, n, name, to, seen) {
    n = split(needs[object], name, " ")
    for (i = 1; i <= n; i++) {
        to = home[name[i]]
        if (to == "" || to == object || is_meant(object, to))
            continue
        by[object, to] = by[object, to] " " name[i]
        if (!((object, to) in edge)) {
            edge[object, to] = 1
            neighbour[object, ++degree[object]] = to
        }
    }
}

function visit(object,    i, to) {
    number[object] = low[object] = ++last
    stack[++height] = object
    waiting[object] = 1
    for (i = 1; i <= degree[object]; i++) {
        to = neighbour[object, i]
        if (!(to in number))
            visit(to)
        if (waiting[to] && low[to] < low[object])
            low[object] = low[to]
    }
    if (low[object] == number[object])
        take(object)
}

# The circle that ends at `object` comes off the stack.
function take(object,    n, member, i, j) {
    do {
        member[++n] = stack[height--]
        waiting[member[n]] = 0
    } while (member[n] != object)
    if (n <= most)
        return
    bad = 1
    print n " objects need each other; at most " most " may:"
    for (i = 1; i <= n; i++)
        for (j = 1; j <= n; j++)
            if ((member[i], member[j]) in by)
                print "    " member[i] " -> " member[j] ":" \
                      by[member[i], member[j]]
}

END {
    for (object in objects)
        connect(object)
    for (object in objects)
        if (!(object in number))
            visit(object)
    exit bad
}
