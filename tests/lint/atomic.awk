# atomic.awk - fails when an atomic builtin is used elsewhere than where their
# meanings are written down (common/base/atomic.h), and where any file, tests too,
# has C11's atomics beside those.

BEGIN {
    # Orders that need a proof of their own, which stands beside them.
    proved["daemon/own_name.c"] = "a signal's handler and its thread"
    proved["rpc/conn/loop.c"] = "a loop that sleeps and who posts to it"
    proved["common/base/atomic.h"] = "these"
}

/__(atomic|sync)_[a-z_]+\(/ && FILENAME !~ /^tests\// && !(FILENAME in proved) {
    printf "%s:%d: common/base/atomic.h has the atomic operations\n", FILENAME, \
           FNR
    bad = 1
}

/#include <stdatomic.h>/ {
    printf "%s:%d: common/base/atomic.h instead of <stdatomic.h>\n", FILENAME, FNR
    bad = 1
}

END { exit bad }
