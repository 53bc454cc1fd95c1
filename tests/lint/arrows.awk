# arrows.awk - fails when an object needs a symbol of a layer or a room that its
# own may not include: a declaration that is repeated, or stands in a header far
# from its definition, hides such an arrow from layers.awk.
#
#     nm -A -g OBJECT... |
#         awk -f tests/lint/rooms.awk -f tests/lint/arrows.awk kernels/core/*.h -

BEGIN {
    # Where two layers meet in single headers of rooms.awk, and where what these
    # declare is defined.
    meets["daemon"] = "client/train" # client/train/train.h
    meets["client"] = "daemon"       # daemon/server.h
    # What lists what is above it, so that nobody else need know of all.
    lists["kernels/core/all.o"] = "every family"
    lists["rpc/core/sniff.o"] = "the protocols that are served"
    lists["rpc/core/channel.o"] = "the protocols that are spoken"
}

# The one inversion that is meant: what headers of kernels/core declare, and the
# worker defines, is called by kernels, and by the worker itself.
FILENAME ~ /\.h$/ {
    code = $0
    while (match(code, /tfd_[a-z_0-9]+\(/)) {
        is_api[substr(code, RSTART, RLENGTH - 1)] = 1
        code = substr(code, RSTART + RLENGTH)
    }
    next
}

{
    split($0, part, ":")
    object = part[1]
    count = split(substr($0, length(object) + 2), word, " ")
    if (count == 3 && word[2] ~ /^[TDBRVWC]$/) {
        if (!(word[3] in home))
            home[word[3]] = object
    } else if (word[1] ~ /^[Uw]$/) {
        needs[++last] = object " " word[2]
    }
}

# build/thread/rpc/core/x.o: rpc/core/x.o; "" where it is no object of ours.
function source_of(object) {
    while (!(layer_of(object) in may))
        if (!sub(/^[^\/]*\//, "", object))
            return ""
    return object
}

function is_meant(user, maker, name) {
    if (user in lists)
        return 1
    if (name in is_api && maker ~ /^daemon\/worker\//)
        return user ~ /^(kernels|cuda|daemon\/worker)\//
    return index(maker, meets[layer_of(user)] "/") == 1
}

END {
    for (i = 1; i <= last; i++) {
        split(needs[i], pair, " ")
        name = pair[2]
        if (!(name in home) || home[name] == pair[1])
            continue
        user = source_of(pair[1])
        maker = source_of(home[name])
        if (user == "" || maker == "" || is_meant(user, maker, name))
            continue
        from = layer_of(user)
        to = layer_of(maker)
        here = room_of(user)
        there = room_of(maker)
        if (from != to && !allowed(from, to)) {
            print user " needs " name " of " maker ": " from " may not"
            bad = 1
        }
        if (from == to && here != "" && there != "" && here != there &&
            !is_beside(here, there)) {
            print user " needs " name " of " maker ": " here " may not"
            bad = 1
        }
    }
    exit bad
}
