# names.awk - fails when a public function or variable is not called after where
# it is found: tfd_X_..., where X is
#
#     the file that defines it, or the first words of the file's name
#     the header that declares it
#     the room or the layer of the file
#     a struct or an enum that a header of the same room defines
#
#     nm -A -g OBJECT... |
#         awk -f tests/lint/rooms.awk -f tests/lint/names.awk HEADER... -

BEGIN {
    # Others, each with its reason.
    other["tfd_fail"] = "status.h: in every file, many times"
    other["tfd_unlock"] = "the other half of tfd_lock()"
    other["tfd_families"] = "families.def: all.c makes an array of it"
    other["main"] = "C"
    # Prefixes.
    prefix["tfd_pb_"] = "pbio.h: the word of protobuf's own libraries"
    prefix["tfd_family_"] = "families.def: FAMILY(x) is in x.c"
    prefix["tfd_kctx_"] = "kernel.h: what a kernel may call, whoever defines it"
    prefix["tfd_rt_"] = "runtime.h: the same, of the device it runs on"
    prefix["TF_"] = "TensorFlow's C API"
    prefix["TFD_"] = "ours, as client/include/tfd declares it"
    prefix["DW.ref."] = "the compiler's own, where C++ may throw"
    for (p in prefix)
        if (length(p) > longest)
            longest = length(p)
}

FILENAME != "-" && FNR == 1 {
    room = header = FILENAME
    sub(/\/[^\/]*$/, "", room)
    sub(/^.*\//, "", header)
    sub(/\.h$/, "", header)
}

FILENAME != "-" && /^(struct|enum|union) tfd_[a-z_0-9]+( \{|;)/ {
    type = $2
    gsub(/^tfd_|;$/, "", type)
    types[room] = types[room] " " type
}

FILENAME != "-" {
    code = $0
    while (match(code, /tfd_[A-Za-z_0-9]+/)) {
        name = substr(code, RSTART, RLENGTH)
        if (!index(" " declared[name] " ", " " header " "))
            declared[name] = declared[name] " " header
        code = substr(code, RSTART + RLENGTH)
    }
    next
}

{
    split($0, part, ":")
    count = split(substr($0, length(part[1]) + 2), word, " ")
    if (count == 3 && word[2] ~ /^[TDBRVWC]$/)
        look_at(part[1], word[3])
}

function source_of(object) {
    while (!(layer_of(object) in may))
        if (!sub(/^[^\/]*\//, "", object))
            return ""
    return object
}

# Whether what follows "tfd_" begins with key, singular or plural.
function begins(rest, key) {
    sub(/s$/, "", key)
    return rest ~ ("^" key "s?(_|$)")
}

function begins_with_any(rest, keys,    i, n, key) {
    n = split(keys, key, " ")
    for (i = 1; i <= n; i++)
        if (begins(rest, key[i]))
            return 1
    return 0
}

function is_other(name,    i) {
    if (name in other)
        return 1
    for (i = 1; i <= longest; i++)
        if (substr(name, 1, i) in prefix)
            return 1
    return 0
}

function look_at(object, name,    source, room, base, rest, keys, first, n, i, w) {
    source = source_of(object)
    if (source == "" || is_other(name))
        return
    room = base = source
    sub(/\/[^\/]*$/, "", room)
    sub(/^.*\//, "", base)
    sub(/(\.cu)?\.o$/, "", base)
    rest = name
    sub(/^(tfd|cuda)_/, "", rest)
    keys = declared[name] types[room]
    n = split(base, w, "_")
    for (i = 1; i <= n; i++) {
        first = first (i > 1 ? "_" : "") w[i]
        keys = keys " " first
    }
    n = split(room, w, "/")
    for (i = 1; i <= n; i++)
        keys = keys " " w[i]
    if (rest != name && begins_with_any(rest, keys))
        return
    print source ": " name " says neither file nor room"
    bad = 1
}

END { exit bad }
