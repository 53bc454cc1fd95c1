/*
 * fibers.cpp - the threads of a block, one of which runs at a time, on the
 * thread of its stream.
 */
#include "tests/emulated/machine.h"

#include <string.h>
#include <ucontext.h>

#include <memory>

#define BLOCK_MAX 1024
#define STACK_SIZE ((size_t)64 << 10)

namespace emulator
{

__constinit thread_local struct place here = {};

enum state { RUNS, AT_BARRIER, AT_WARP_BARRIER, ENDED };

/* What __builtin_setjmp() leaves.  That of libc looks for the thread's cleanups
 * at each jump, of which kernels with barriers make millions. */
typedef void *mark[5];

struct fiber {
    mark at;
    ucontext_t start;
    void *stack;
    bool begun;
    enum state state;
};

/* Of a stream's thread.  A fiber is made once and runs threads for ever. */
struct block {
    struct fiber fibers[BLOCK_MAX];
    uint64_t slots[BLOCK_MAX];
    mark scheduler;
    ucontext_t from;
    unsigned current, count;
    const std::function<void()> *thread;

    block()
    {
        memset(fibers, 0, sizeof(fibers));
    }
    ~block()
    {
        for (struct fiber &f : fibers)
            free(f.stack);
    }
};

static thread_local std::unique_ptr<struct block> own;
static __thread struct block *at_work; /* the same */

static inline struct block &block_here()
{
    if (!at_work) {
        own.reset(new struct block);
        at_work = own.get();
    }
    return *at_work;
}

/* Of a function that marks another place. */
[[noreturn, gnu::noinline]] static void jump(mark to)
{
    __builtin_longjmp(to, 1);
}

static void stop(struct block &b, enum state why)
{
    struct fiber &f = b.fibers[b.current];

    f.state = why;
    if (__builtin_setjmp(f.at) == 0)
        jump(b.scheduler);
}

static void run_threads()
{
    struct block &b = block_here();

    for (;;) {
        (*b.thread)();
        stop(b, ENDED);
    }
}

static void begin(struct block &b, struct fiber &f)
{
    f.begun = true;
    f.stack = malloc(STACK_SIZE);
    if (!f.stack || getcontext(&f.start) != 0)
        die("no memory for a thread");
    f.start.uc_stack.ss_sp = f.stack;
    f.start.uc_stack.ss_size = STACK_SIZE;
    f.start.uc_link = &b.from;
    makecontext(&f.start, run_threads, 0);
    setcontext(&f.start);
}

/* Until it stops. */
static void resume(struct block &b, unsigned i, dim3 size)
{
    struct fiber &f = b.fibers[i];

    b.current = i;
    f.state = RUNS;
    here.thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    if (__builtin_setjmp(b.scheduler) != 0)
        return;
    if (f.begun)
        jump(f.at);
    begin(b, f);
}

/* Those of [first, end) wait, or have ended, and at least one waits. */
static bool all_wait(const struct block &b, unsigned first, unsigned end,
                     enum state where)
{
    bool any = false;

    for (unsigned i = first; i < end; i++) {
        any = any || b.fibers[i].state == where;
        if (b.fibers[i].state != where && b.fibers[i].state != ENDED)
            return false;
    }
    return any;
}

/* How many may go on. */
static unsigned release(struct block &b, unsigned first, unsigned end,
                        enum state where)
{
    unsigned count = 0;

    if (!all_wait(b, first, end, where))
        return 0;
    for (unsigned i = first; i < end; i++)
        if (b.fibers[i].state == where) {
            b.fibers[i].state = RUNS;
            count++;
        }
    return count;
}

static unsigned release_all(struct block &b)
{
    unsigned count = release(b, 0, b.count, AT_BARRIER);

    for (unsigned i = 0; i < b.count; i += 32)
        count +=
            release(b, i, i + 32 < b.count ? i + 32 : b.count, AT_WARP_BARRIER);
    return count;
}

static void run_block(struct block &b, dim3 size)
{
    unsigned waiting;

    for (unsigned i = 0; i < b.count; i++)
        b.fibers[i].state = RUNS;
    do {
        waiting = 0;
        for (unsigned i = 0; i < b.count; i++) {
            if (b.fibers[i].state == RUNS)
                resume(b, i, size);
            waiting += b.fibers[i].state != ENDED;
        }
        if (waiting > 0 && release_all(b) == 0)
            die("a barrier that not all threads reach");
    } while (waiting > 0);
}

void run_grid(dim3 grid, dim3 size, const std::function<void()> &thread)
{
    struct block &b = block_here();

    b.count = size.x * size.y * size.z;
    b.thread = &thread;
    here.block_size = size;
    here.grid_size = grid;
    if (b.count == 0 || b.count > BLOCK_MAX ||
        (uint64_t)grid.x * grid.y * grid.z == 0 || grid.x > INT32_MAX ||
        grid.y > 65535 || grid.z > 65535)
        die("a grid that no card takes");
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                here.block = {x, y, z};
                run_block(b, size);
            }
}

void barrier()
{
    stop(block_here(), AT_BARRIER);
}

void warp_barrier()
{
    stop(block_here(), AT_WARP_BARRIER);
}

unsigned lane()
{
    return block_here().current % 32;
}

uint64_t *lane_slot(unsigned lane)
{
    struct block &b = block_here();

    return &b.slots[b.current / 32 * 32 + lane];
}

} /* namespace emulator */
