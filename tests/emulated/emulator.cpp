/*
 * emulator.cpp - see emulator.h; takes the place of cuda/runtime.cu.
 */
extern "C" {
#include "cuda/cuda.h"
}

#include "tests/emulated/emulator.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define DEVICES 2
#define DEVICE_SIZE ((size_t)4 << 30)
#define BLOCK_MAX 1024
#define STACK_SIZE ((size_t)64 << 10)

/* Of CUDA: cudaErrorInvalidValue, ...StreamCaptureUnsupported, ...Unmatched. */
enum { INVALID_VALUE = 1, CAPTURE_TWICE = 900, CAPTURE_NONE = 903 };

static void die(const char *why)
{
    fprintf(stderr, "the emulated GPU: %s\n", why);
    abort();
}

/* ---- Fibers -------------------------------------------------------------- */

namespace emulator
{

thread_local struct place here;

enum state { RUNS, AT_BARRIER, AT_WARP_BARRIER, ENDED };

struct fiber {
    jmp_buf at;
    ucontext_t start;
    void *stack;
    bool begun;
    enum state state;
};

/* Of a stream's thread.  A fiber is made once and runs threads for ever. */
struct block {
    struct fiber fibers[BLOCK_MAX];
    uint64_t slots[BLOCK_MAX];
    jmp_buf scheduler;
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

static struct block &block_here()
{
    if (!own)
        own.reset(new struct block);
    return *own;
}

static void stop(struct block &b, enum state why)
{
    struct fiber &f = b.fibers[b.current];

    f.state = why;
    if (_setjmp(f.at) == 0)
        _longjmp(b.scheduler, 1);
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
    if (_setjmp(b.scheduler) != 0)
        return;
    if (f.begun)
        _longjmp(f.at, 1);
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

/* ---- Memory -------------------------------------------------------------- */

/* Ranges of the devices, which can be touched while `busy` streams work: ours,
 * in files without names, and those of other processes. */
static std::mutex guard;
static char *memory[DEVICES];
static int files[DEVICES];
static std::map<char *, size_t> parts[DEVICES]; /* what was allocated */
static std::set<char *> mapped;
static std::vector<std::pair<size_t, size_t>> free_parts[DEVICES];
static int busy;

static void protect(int access)
{
    for (char *m : memory)
        if (m && mprotect(m, DEVICE_SIZE, access) != 0)
            die("mprotect() fails");
    for (char *m : mapped)
        if (mprotect(m, DEVICE_SIZE, access) != 0)
            die("mprotect() fails");
}

/* All of a device's, which may be another process's. */
static char *map_file(int file)
{
    char *m = (char *)mmap(nullptr, DEVICE_SIZE,
                           busy ? PROT_READ | PROT_WRITE : PROT_NONE,
                           MAP_SHARED | MAP_NORESERVE, file, 0);

    return m == MAP_FAILED ? nullptr : m;
}

static void begin_work()
{
    std::lock_guard<std::mutex> l(guard);

    if (busy++ == 0)
        protect(PROT_READ | PROT_WRITE);
}

static void end_work()
{
    std::lock_guard<std::mutex> l(guard);

    if (--busy == 0)
        protect(PROT_NONE);
}

/* ---- Streams ------------------------------------------------------------- */

struct mark {
    std::mutex lock;
    std::condition_variable changed;
    bool passed = false;

    void pass()
    {
        std::lock_guard<std::mutex> l(lock);

        passed = true;
        changed.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> l(lock);

        changed.wait(l, [this] { return passed; });
    }
};

} /* namespace emulator */

/* The device of this thread, by the machine's number. */
static thread_local int current;

using work_list = std::vector<std::function<void()>>;

struct emulated_stream {
    std::mutex lock;
    std::condition_variable more;
    std::deque<std::function<void()>> queue;
    std::shared_ptr<work_list> captured; /* while it captures */
    std::thread::id capturer;
    bool stops = false;
    int device; /* the machine's number */
    std::thread thread;

    void run()
    {
        std::unique_lock<std::mutex> l(lock);

        for (;;) {
            more.wait(l, [this] { return stops || !queue.empty(); });
            if (queue.empty())
                return;
            std::function<void()> work = std::move(queue.front());
            queue.pop_front();
            l.unlock();
            work();
            l.lock();
        }
    }
};

struct emulated_event {
    std::shared_ptr<struct emulator::mark> mark;
};

static void put(cudaStream_t s, std::function<void()> work)
{
    std::lock_guard<std::mutex> l(s->lock);

    if (s->captured)
        die("an event on a stream that captures");
    s->queue.push_back(std::move(work));
    s->more.notify_one();
}

/* Keeps the work for a graph; false when s does not capture. */
static bool keep(cudaStream_t s, const std::function<void()> &work)
{
    std::lock_guard<std::mutex> l(s->lock);

    if (!s->captured)
        return false;
    if (s->capturer != std::this_thread::get_id())
        die("a launch on a stream that another thread captures");
    s->captured->push_back(work);
    return true;
}

void emulator::begin_launch(const char *site, cudaStream_t s)
{
    static std::mutex lock;
    static std::set<std::string> seen;
    const char *path = getenv("EMULATED_LAUNCHES");
    std::lock_guard<std::mutex> l(lock);
    FILE *f;

    if (s->device != current)
        die("a launch on a stream of another device");
    if (!path || !seen.insert(site).second)
        return;
    f = fopen(path, "a");
    if (!f)
        die("the file of $EMULATED_LAUNCHES cannot be written");
    fprintf(f, "%s\n", site);
    fclose(f);
}

void emulator::enqueue(cudaStream_t s, std::function<void()> work)
{
    if (keep(s, work))
        return;
    put(s, [work] {
        begin_work();
        work();
        end_work();
    });
}

extern "C" cudaError_t cudaMemsetAsync(void *to, int value, size_t size,
                                       cudaStream_t s)
{
    emulator::enqueue(s, [=] { memset(to, value, size); });
    return 0;
}

extern "C" cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                                       enum cudaMemcpyKind kind, cudaStream_t s)
{
    (void)kind;
    emulator::enqueue(s, [=] { memcpy(to, from, size); });
    return 0;
}

extern "C" cudaError_t cudaGetLastError(void)
{
    return 0;
}

extern "C" cudaError_t cudaPeekAtLastError(void)
{
    return 0;
}

/* What the emulated libraries enqueue: run() may be called more than once, with
 * a copy of the argument. */
extern "C" void emulated_enqueue(cudaStream_t s, void (*run)(const void *),
                                 const void *arg, size_t size)
{
    const std::vector<char> copy((const char *)arg, (const char *)arg + size);

    emulator::enqueue(s, [run, copy] { run(copy.data()); });
}

/* ---- The table of cuda/driver.h ------------------------------------------ */

namespace
{

/* The machine's, in the order of CUDA_VISIBLE_DEVICES. */
int visible[DEVICES];

/* As CUDA reads it: the list ends before what is no device. */
int device_count(int *count)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    char *end;

    *count = 0;
    for (int i = 0; !at && i < DEVICES; i++)
        visible[(*count)++] = i;
    while (at && *at && *count < DEVICES) {
        long i = strtol(at, &end, 10);

        if (end == at || i < 0 || i >= DEVICES)
            break;
        visible[(*count)++] = (int)i;
        at = *end == ',' ? end + 1 : "";
    }
    return *count ? TFD_CUDA_OK : TFD_CUDA_NO_DEVICE;
}

int properties(int device, struct tfd_cuda_properties *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "Emulated %d", visible[device]);
    snprintf(out->bus, sizeof(out->bus), "0000:%02x:00.0", visible[device] + 1);
    out->major = 9;
    out->processors = 1;
    return 0;
}

int use(int device)
{
    current = visible[device];
    return 0;
}

size_t rounded(size_t size)
{
    return (size + 511) / 512 * 512;
}

int allocate(void **at, size_t size)
{
    std::lock_guard<std::mutex> l(emulator::guard);
    auto &parts = emulator::free_parts[current];
    char *&m = emulator::memory[current];

    if (!m) {
        int &file = emulator::files[current];

        file = memfd_create("emulated GPU", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, DEVICE_SIZE) != 0 ||
            !(m = emulator::map_file(file)))
            die("no memory for a device");
        parts.emplace_back(0, DEVICE_SIZE);
    }
    size = rounded(size);
    for (auto &p : parts)
        if (p.second >= size) {
            *at = m + p.first;
            emulator::parts[current][m + p.first] = size;
            p.first += size;
            p.second -= size;
            return 0;
        }
    return TFD_CUDA_NO_MEMORY;
}

/* The pools of devices keep what they have; so what is given back is not used
 * again, and one that is used after it was given back reads zeros. */
int release(void *at)
{
    (void)at;
    return 0;
}

/* A device's memory is a file that another process finds by ours. */
struct shared {
    char magic[8];
    int pid, file;
    size_t at, size;
};

int share(void *at, struct tfd_cuda_handle *out)
{
    std::lock_guard<std::mutex> l(emulator::guard);
    auto part = emulator::parts[current].find((char *)at);
    struct shared s = {"emulate", getpid(), emulator::files[current], 0, 0};

    if (part == emulator::parts[current].end())
        return INVALID_VALUE;
    s.at = (size_t)((char *)at - emulator::memory[current]);
    s.size = part->second;
    memset(out, 0, sizeof(*out));
    memcpy(out->bytes, &s, sizeof(s));
    return 0;
}

/* As CUDA: not one's own. */
int map(const struct tfd_cuda_handle *h, void **at, size_t *size)
{
    struct shared s;
    struct stat st;
    char path[64];
    char *m = nullptr;
    int file;

    memcpy(&s, h->bytes, sizeof(s));
    if (memcmp(s.magic, "emulate", 8) != 0 || s.pid == getpid())
        return INVALID_VALUE;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", s.pid, s.file);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return INVALID_VALUE;
    std::lock_guard<std::mutex> l(emulator::guard);
    if (fstat(file, &st) == 0 && (size_t)st.st_size == DEVICE_SIZE &&
        s.at <= DEVICE_SIZE && s.size <= DEVICE_SIZE - s.at)
        m = emulator::map_file(file);
    close(file);
    if (!m)
        return INVALID_VALUE;
    emulator::mapped.insert(m);
    *at = m + s.at;
    *size = s.size;
    return 0;
}

int unmap(void *at)
{
    std::lock_guard<std::mutex> l(emulator::guard);

    for (char *m : emulator::mapped)
        if (m <= (char *)at && (char *)at < m + DEVICE_SIZE) {
            emulator::mapped.erase(m);
            return munmap(m, DEVICE_SIZE);
        }
    return INVALID_VALUE;
}

int memory_info(size_t *free_size, size_t *total)
{
    *free_size = *total = DEVICE_SIZE;
    return 0;
}

/* All memory is the host's. */
int peer_access(int device, int peer)
{
    return device == peer ? INVALID_VALUE : 0;
}

int host_allocate(void **at, size_t size)
{
    *at = aligned_alloc(512, rounded(size));
    return *at ? 0 : TFD_CUDA_NO_MEMORY;
}

int host_release(void *at)
{
    free(at);
    return 0;
}

int stream_make(void **stream)
{
    cudaStream_t s = new emulated_stream;

    s->device = current;
    s->thread = std::thread([s] { s->run(); });
    *stream = s;
    return 0;
}

int stream_release(void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;

    {
        std::lock_guard<std::mutex> l(s->lock);
        s->stops = true;
        s->more.notify_one();
    }
    s->thread.join();
    delete s;
    return 0;
}

int stream_wait(void *stream, void *event)
{
    std::shared_ptr<struct emulator::mark> m =
        ((struct emulated_event *)event)->mark;

    if (m)
        put((cudaStream_t)stream, [m] { m->wait(); });
    return 0;
}

int event_make(void **event)
{
    *event = new emulated_event;
    return 0;
}

int event_release(void *event)
{
    delete (struct emulated_event *)event;
    return 0;
}

int event_record(void *event, void *stream)
{
    auto m = std::make_shared<struct emulator::mark>();

    ((struct emulated_event *)event)->mark = m;
    put((cudaStream_t)stream, [m] { m->pass(); });
    return 0;
}

int event_query(void *event)
{
    struct emulator::mark *m = ((struct emulated_event *)event)->mark.get();

    if (!m)
        return 0;
    std::lock_guard<std::mutex> l(m->lock);
    return m->passed ? 0 : TFD_CUDA_NOT_READY;
}

int event_wait(void *event)
{
    std::shared_ptr<struct emulator::mark> m =
        ((struct emulated_event *)event)->mark;

    if (m)
        m->wait();
    return 0;
}

int copy(void *to, const void *from, size_t size,
         enum tfd_cuda_direction direction, void *stream)
{
    (void)direction;
    emulator::enqueue((cudaStream_t)stream, [=] { memcpy(to, from, size); });
    return 0;
}

int copy_runs(void *to, size_t to_step, const void *from, size_t from_step,
              size_t size, size_t count, void *stream)
{
    emulator::enqueue((cudaStream_t)stream, [=] {
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * to_step, (const char *)from + i * from_step,
                   size);
    });
    return 0;
}

int copy_peer(void *to, int to_device, const void *from, int from_device,
              size_t size, void *stream)
{
    (void)to_device;
    (void)from_device;
    return copy(to, from, size, TFD_CUDA_TO_DEVICE, stream);
}

/* A graph; what is enqueued of it shares the list. */
using shared_work = std::shared_ptr<work_list>;

int capture_begin(void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    std::lock_guard<std::mutex> l(s->lock);

    if (s->captured)
        return CAPTURE_TWICE;
    s->captured = std::make_shared<work_list>();
    s->capturer = std::this_thread::get_id();
    return 0;
}

int capture_end(void *stream, void **graph)
{
    cudaStream_t s = (cudaStream_t)stream;
    std::lock_guard<std::mutex> l(s->lock);

    *graph = nullptr;
    if (!s->captured)
        return CAPTURE_NONE;
    *graph = new shared_work(std::move(s->captured));
    s->captured = nullptr;
    return 0;
}

int graph_launch(void *graph, void *stream)
{
    const shared_work work = *(shared_work *)graph;

    if (((cudaStream_t)stream)->device != current)
        die("a launch on a stream of another device");
    for (size_t i = 0; i < work->size(); i++)
        emulator::enqueue((cudaStream_t)stream, [work, i] { (*work)[i](); });
    return 0;
}

int graph_release(void *graph)
{
    if (((shared_work *)graph)->use_count() > 1)
        die("a graph is released while a launch of it is under way");
    delete (shared_work *)graph;
    return 0;
}

const char *error_text(int error)
{
    return error == TFD_CUDA_NO_MEMORY   ? "out of memory"
           : error == TFD_CUDA_NO_DEVICE ? "no CUDA-capable device is detected"
           : error == INVALID_VALUE      ? "invalid argument"
           : error == CAPTURE_TWICE      ? "the stream captures already"
           : error == CAPTURE_NONE       ? "the stream does not capture"
                                         : "an error";
}

const struct tfd_cuda_driver driver = {
    device_count,  properties,     use,           memory_info,
    peer_access,   allocate,       release,       share,
    map,           unmap,          host_allocate, host_release,
    stream_make,   stream_release, stream_wait,   event_make,
    event_release, event_record,   event_query,   event_wait,
    copy,          copy_runs,      copy_peer,     capture_begin,
    capture_end,   graph_launch,   graph_release, error_text,
};

} /* namespace */

extern "C" const struct tfd_cuda_driver *tfd_cuda_driver(void)
{
    return &driver;
}
