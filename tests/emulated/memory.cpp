/*
 * memory.cpp - the memory of devices: files without names, which other
 * processes can map, and which are out of reach while no stream works.
 */
#include "tests/emulated/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#define DEVICE_SIZE ((size_t)4 << 30)
/* Below all that the kernel gives a place, so that nothing else comes there. */
#define FIRST_PLACE ((size_t)16 << 40)

namespace emulator
{

/* Ranges of the devices, which can be touched while `busy` streams work: ours,
 * in files without names, and those of other processes. */
static std::mutex guard;
static char *memory[DEVICES];
static int files[DEVICES];
static std::map<char *, size_t> parts[DEVICES]; /* what was allocated */
static std::set<char *> mapped;                 /* ours, too */
static std::vector<std::pair<size_t, size_t>> free_parts[DEVICES];
static int busy;

/* Where a range is while nobody may touch it.  Tables of pages are moved there
 * and back; mprotect() would change the entry of each page, at each launch. */
static char *hidden(char *m)
{
    return m + DEVICE_SIZE;
}

static void move(char *from, char *to)
{
    if (mremap(from, DEVICE_SIZE, DEVICE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
               to) != to)
        die("mremap() fails");
}

/* All of a device's, which may be another process's. */
static char *map_file(int file)
{
    char *m = (char *)FIRST_PLACE, *at;

    while (mapped.count(m))
        m += 2 * DEVICE_SIZE;
    at = busy ? m : hidden(m);
    if (mmap(at, DEVICE_SIZE, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0) != at)
        return nullptr;
    mapped.insert(m);
    return m;
}

void begin_work()
{
    std::lock_guard<std::mutex> l(guard);

    if (busy++ == 0)
        for (char *m : mapped)
            move(hidden(m), m);
}

void end_work()
{
    std::lock_guard<std::mutex> l(guard);

    if (--busy == 0)
        for (char *m : mapped)
            move(m, hidden(m));
}

/* ---- Rows of the table --------------------------------------------------- */

static size_t rounded(size_t size)
{
    return (size + 511) / 512 * 512;
}

int allocate(void **at, size_t size)
{
    std::lock_guard<std::mutex> l(guard);
    auto &left = free_parts[current];
    char *&m = memory[current];

    if (!m) {
        int &file = files[current];

        file = memfd_create("emulated GPU", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, DEVICE_SIZE) != 0 ||
            !(m = map_file(file)))
            die("no memory for a device");
        left.emplace_back(0, DEVICE_SIZE);
    }
    size = rounded(size);
    for (auto &p : left)
        if (p.second >= size) {
            *at = m + p.first;
            parts[current][m + p.first] = size;
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
    std::lock_guard<std::mutex> l(guard);
    auto part = parts[current].find((char *)at);
    struct shared s = {"emulate", getpid(), files[current], 0, 0};

    if (part == parts[current].end())
        return INVALID_VALUE;
    s.at = (size_t)((char *)at - memory[current]);
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
    std::lock_guard<std::mutex> l(guard);
    if (fstat(file, &st) == 0 && (size_t)st.st_size == DEVICE_SIZE &&
        s.at <= DEVICE_SIZE && s.size <= DEVICE_SIZE - s.at)
        m = map_file(file);
    close(file);
    if (!m)
        return INVALID_VALUE;
    *at = m + s.at;
    *size = s.size;
    return 0;
}

int unmap(void *at)
{
    std::lock_guard<std::mutex> l(guard);

    for (char *m : mapped)
        if (m <= (char *)at && (char *)at < m + DEVICE_SIZE) {
            mapped.erase(m);
            return munmap(busy ? m : hidden(m), DEVICE_SIZE);
        }
    return INVALID_VALUE;
}

int memory_info(size_t *free_size, size_t *total)
{
    *free_size = *total = DEVICE_SIZE;
    return 0;
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

} /* namespace emulator */
