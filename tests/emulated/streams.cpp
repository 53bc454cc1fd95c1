/*
 * streams.cpp - streams, each of which is a thread that works off what is
 * enqueued, with their events, and graphs of what was enqueued while one
 * captured.
 */
#include "tests/emulated/machine.h"

#include <stdio.h>
#include <string.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace emulator
{

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

namespace emulator
{

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

void begin_launch(const char *site, cudaStream_t s)
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

void enqueue(cudaStream_t s, std::function<void()> work)
{
    if (keep(s, work))
        return;
    put(s, [work] {
        begin_work();
        work();
        end_work();
    });
}

/* ---- Rows of the table --------------------------------------------------- */

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
    std::shared_ptr<struct mark> m = ((struct emulated_event *)event)->mark;

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
    auto m = std::make_shared<struct mark>();

    ((struct emulated_event *)event)->mark = m;
    put((cudaStream_t)stream, [m] { m->pass(); });
    return 0;
}

int event_query(void *event)
{
    struct mark *m = ((struct emulated_event *)event)->mark.get();

    if (!m)
        return 0;
    std::lock_guard<std::mutex> l(m->lock);
    return m->passed ? 0 : TFD_CUDA_NOT_READY;
}

int event_wait(void *event)
{
    std::shared_ptr<struct mark> m = ((struct emulated_event *)event)->mark;

    if (m)
        m->wait();
    return 0;
}

int copy(void *to, const void *from, size_t size,
         enum tfd_cuda_direction direction, void *stream)
{
    (void)direction;
    enqueue((cudaStream_t)stream, [=] { memcpy(to, from, size); });
    return 0;
}

int copy_runs(void *to, size_t to_step, const void *from, size_t from_step,
              size_t size, size_t count, void *stream)
{
    enqueue((cudaStream_t)stream, [=] {
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
        enqueue((cudaStream_t)stream, [work, i] { (*work)[i](); });
    return 0;
}

int graph_release(void *graph)
{
    if (((shared_work *)graph)->use_count() > 1)
        die("a graph is released while a launch of it is under way");
    delete (shared_work *)graph;
    return 0;
}

} /* namespace emulator */

/* ---- The runtime's functions --------------------------------------------- */

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
