# same.awk - fails when two files have one base name and different meanings.
#
#     ls FILE... | awk -f tests/lint/same.awk
#
# A family's kernels are found by one name in kernels/<room> and cuda/<room>, and
# what its GPU kernels share with others is in cuda/lib under that name too.

BEGIN {
    # Others that mean the same, each with its reason.
    same["all"] = "the list of a layer's families"
    same["complex"] = "arithmetic of complex numbers, and its ops"
    same["function"] = "those of a graph, and EagerService's"
    same["graph"] = "the same of graphs"
    same["service"] = "methods: the table, and EagerService's rows of it"
    same["train"] = "TFD_Train: client/include/tfd/train.h and its inside"
    same["variable"] = "TensorFlow's variables, in the client and in kernels"
}

{
    base = folder = $0
    sub(/^.*\//, "", base)
    sub(/\.[a-z]+$/, "", base)
    sub(/\/[^\/]*$/, "", folder)
    if (!((base, folder) in seen)) {
        seen[base, folder] = 1
        folders[base] = folders[base] " " folder
        count[base]++
    }
}

function is_family(base,    i, n, f) {
    n = split(folders[base], f, " ")
    for (i = 1; i <= n; i++)
        if (f[i] !~ /^(kernels|cuda)\//)
            return 0
    return n - gsub(/ cuda\//, " cuda/", folders[base]) <= 1
}

END {
    for (base in count)
        if (count[base] > 1 && !(base in same) && !is_family(base)) {
            print "one name for different things: " base " in" folders[base]
            bad = 1
        }
    exit bad
}
