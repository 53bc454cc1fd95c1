/*
 * jxl.c - see jxl.h.
 *
 * The structs and numbers below are those of libjxl's interface, which are the
 * same in the releases that are tried.  The head is read piece by piece, so
 * that a step that has ended is seen between the pieces.
 *
 * Frames may be larger than the picture, and libjxl 0.7 ends the process where
 * memory for them is refused.  So pixels are made by a child of this process,
 * whose memory is limited by what the file announces; they come back in memory
 * that both share.  The child calls nothing but libjxl and the system.
 *
 * What libjxl works in counts against the memory limit: as much as a lossless
 * picture takes, four bytes for each channel of each pixel, before it begins,
 * and what it asks our allocator for, which in release 0.7 are small parts
 * alone.  Channels beside the colours, of which a few bytes can announce
 * thousands, count like them.
 */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS */
#include "kernels/codec/jxl.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a file, the larger of both. */
#define PIECE_SIZE_MIN ((size_t)4096)
#define PIECES_MAX 256

enum jxl_status {
    JXL_FAILED = 1,
    JXL_NEEDS_INPUT = 2,
    JXL_NEEDS_ROOM = 5,
    JXL_HAS_INFO = 0x40,
    JXL_HAS_IMAGE = 0x1000,
};

struct jxl_info {
    int in_container;
    uint32_t width, height, bits, exponent_bits;
    float intensity, least;
    int relative;
    float linear_below;
    int own_profile, has_preview, has_animation, orientation;
    uint32_t colors, extra, alpha_bits, alpha_exponent_bits;
    int premultiplied;
    uint32_t preview[2], animation[3];
    int time_codes;
    uint32_t intrinsic[2];
    uint8_t rest[512]; /* more than any release has */
};

struct jxl_pixels {
    uint32_t channels;
    int type, endianness;
    size_t align;
};
#define JXL_BYTES 2 /* as a type of pixels */
/* What a child may take: so many times the size of a lossless picture, of three
 * channels at least, and this. */
#define CHILD_TIMES 32
#define CHILD_SIZE_MIN ((size_t)256 << 20)
/* Between two looks at a child, in milliseconds. */
#define CHILD_LOOK 1

struct jxl_memory {
    void *opaque;
    void *(*take)(void *opaque, size_t size);
    void (*give_back)(void *opaque, void *address);
};

struct jxl_decoder;

static struct {
    pthread_once_t once;
    bool found;
    struct jxl_decoder *(*open)(const struct jxl_memory *memory);
    int (*subscribe)(struct jxl_decoder *d, int events);
    int (*input)(struct jxl_decoder *d, const uint8_t *data, size_t size);
    size_t (*take_back)(struct jxl_decoder *d); /* how much it has not read */
    int (*next)(struct jxl_decoder *d);
    int (*info)(const struct jxl_decoder *d, struct jxl_info *out);
    int (*room_size)(const struct jxl_decoder *d, const struct jxl_pixels *p,
                     size_t *out);
    int (*room)(struct jxl_decoder *d, const struct jxl_pixels *p, void *to,
                size_t size);
    void (*close)(struct jxl_decoder *d);
} jxl = {.once = PTHREAD_ONCE_INIT};

/* ---- The library --------------------------------------------------------- */

static bool find_jxl(void *handle, const char *name, void *function)
{
    void *found = handle ? dlsym(handle, name) : NULL;

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static void load_jxl(void)
{
    static const char *const names[] = {"libjxl.so.0.7",  "libjxl.so.0.11",
                                        "libjxl.so.0.10", "libjxl.so.0.9",
                                        "libjxl.so.0.8",  NULL};
    void *h = NULL;

    for (int i = 0; names[i] && !h; i++)
        h = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    jxl.found = find_jxl(h, "JxlDecoderCreate", &jxl.open) &&
                find_jxl(h, "JxlDecoderSubscribeEvents", &jxl.subscribe) &&
                find_jxl(h, "JxlDecoderSetInput", &jxl.input) &&
                find_jxl(h, "JxlDecoderReleaseInput", &jxl.take_back) &&
                find_jxl(h, "JxlDecoderProcessInput", &jxl.next) &&
                find_jxl(h, "JxlDecoderGetBasicInfo", &jxl.info) &&
                find_jxl(h, "JxlDecoderImageOutBufferSize", &jxl.room_size) &&
                find_jxl(h, "JxlDecoderSetImageOutBuffer", &jxl.room) &&
                find_jxl(h, "JxlDecoderDestroy", &jxl.close);
}

static enum tfd_code need_jxl(struct tfd_status *st)
{
    if (pthread_once(&jxl.once, load_jxl) == 0 && jxl.found)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "libjxl is not installed here (no libjxl.so.0.7 to "
                    "libjxl.so.0.11); of Debian's packages it is libjxl0.7");
}

/* ---- Memory -------------------------------------------------------------- */

/* Before what the library gets stands the buffer that it lies in. */
static void *take_counted(void *opaque, size_t size)
{
    struct tfd_buffer *b;

    (void)opaque;
    if (size > SIZE_MAX - TFD_BUFFER_ALIGN)
        return NULL;
    b = tfd_buffer_new(size + TFD_BUFFER_ALIGN);
    if (!b)
        return NULL;
    memcpy(b->data, &b, sizeof(b));
    return (char *)b->data + TFD_BUFFER_ALIGN;
}

static void give_counted_back(void *opaque, void *address)
{
    struct tfd_buffer *b;

    (void)opaque;
    if (!address)
        return;
    memcpy(&b, (char *)address - TFD_BUFFER_ALIGN, sizeof(b));
    tfd_buffer_unref(b);
}

/* ---- Decoding ------------------------------------------------------------ */

struct reading {
    struct jxl_decoder *d;
    struct tfd_str file;
    size_t given;             /* bytes of the file */
    struct tfd_buffer *count; /* stands for what the library works in */
    struct tfd_picture_size size;
    uint64_t channels; /* those beside the colours, too */
};

static enum tfd_code fail_jxl(const struct reading *r, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Failed to decode JXL %s",
                    r->size.frames ? "image" : "header");
}

static size_t piece_of(const struct reading *r)
{
    const size_t part = r->file.size / PIECES_MAX;

    return part > PIECE_SIZE_MIN ? part : PIECE_SIZE_MIN;
}

/* What the library says next when it has as much of the file as it wants; 0 is
 * also what it says at the end. */
static int next_event(struct reading *r)
{
    int event = jxl.next(r->d);

    while (event == JXL_NEEDS_INPUT && r->given < r->file.size &&
           !tfd_halted()) {
        size_t from = r->given - jxl.take_back(r->d);
        size_t left = r->file.size - from;
        size_t piece = r->given - from + piece_of(r);

        if (piece > left)
            piece = left;
        if (jxl.input(r->d, (const uint8_t *)r->file.data + from, piece) != 0)
            return JXL_FAILED;
        r->given = from + piece;
        event = jxl.next(r->d);
    }
    return event;
}

static enum tfd_code count_work(struct reading *r, const struct jxl_info *info,
                                struct tfd_status *st)
{
    const uint64_t pixels = (uint64_t)(r->size.height * r->size.width);
    size_t each, size;

    r->channels = (uint64_t)info->colors + info->extra;
    each = 4 * (size_t)r->channels + (size_t)r->size.channels;
    if (!__builtin_mul_overflow(pixels, each, &size))
        r->count = tfd_buffer_new_empty(size);
    if (r->count && tfd_buffer_charge(r->count, size))
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "OOM when decoding a JPEG XL of %lld by %lld pixels of "
                    "%llu channels",
                    (long long)r->size.width, (long long)r->size.height,
                    (unsigned long long)info->colors + info->extra);
}

static enum tfd_code read_header(struct reading *r, int64_t channels,
                                 struct tfd_status *st)
{
    struct jxl_info info;

    if (next_event(r) != JXL_HAS_INFO || jxl.info(r->d, &info) != 0)
        return fail_jxl(r, st);
    r->size =
        (struct tfd_picture_size){1, info.height, info.width,
                                  (int64_t)info.colors + (info.alpha_bits > 0)};
    if (channels != 0 && channels != r->size.channels)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of channels requested does not match input");
    TFD_TRY(tfd_picture_check("JPEG XL", &r->size, st));
    return count_work(r, &info, st);
}

/* ---- The child ----------------------------------------------------------- */

/* What both processes see; the pixels follow. */
struct jxl_shared {
    int whole; /* whether the pixels are */
};

/* Bytes of address space that the process has now; 0: unknown.  Of files and
 * memory nothing is asked but the system, since other threads may have had any
 * lock when the child began. */
static size_t address_space(void)
{
    char text[64] = {0};
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    return got <= 0 ? 0
                    : strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static bool limit_child(size_t more)
{
    const size_t now = address_space();
    const struct rlimit space = {now + more, now + more}, core = {0, 0};

    return now > 0 && setrlimit(RLIMIT_AS, &space) == 0 &&
           setrlimit(RLIMIT_CORE, &core) == 0 &&
           prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static bool decode_in_child(const struct reading *r, void *to, size_t want)
{
    const struct jxl_pixels form = {.channels = (uint32_t)r->size.channels,
                                    .type = JXL_BYTES};
    struct jxl_decoder *d = jxl.open(NULL);
    size_t size = 0;

    return d && jxl.subscribe(d, JXL_HAS_IMAGE) == 0 &&
           jxl.input(d, (const uint8_t *)r->file.data, r->file.size) == 0 &&
           jxl.next(d) == JXL_NEEDS_ROOM &&
           jxl.room_size(d, &form, &size) == 0 && size == want &&
           jxl.room(d, &form, to, size) == 0 && jxl.next(d) == JXL_HAS_IMAGE;
}

static _Noreturn void be_child(const struct reading *r,
                               struct jxl_shared *shared, size_t want)
{
    const size_t pixels = (size_t)(r->size.height * r->size.width);
    const size_t more = pixels * CHILD_TIMES * 4 * (size_t)(r->channels + 3);

    shared->whole = limit_child(more + CHILD_SIZE_MIN) &&
                    decode_in_child(r, shared + 1, want);
    _exit(0);
}

/* Until the child has ended, on its own or with the step. */
static void wait_for_child(pid_t child)
{
    pid_t ended;

    do {
        if (tfd_halted())
            (void)kill(child, SIGKILL);
        (void)poll(NULL, 0, CHILD_LOOK);
        ended = waitpid(child, NULL, WNOHANG);
    } while (ended == 0 || (ended < 0 && errno == EINTR));
}

static enum tfd_code run_child(const struct reading *r,
                               struct jxl_shared *shared, size_t want,
                               struct tfd_status *st)
{
    const pid_t child = fork();

    if (child == 0)
        be_child(r, shared, want);
    if (child < 0)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no process to decode a JPEG XL in: %s",
                        strerror(errno));
    wait_for_child(child);
    if (tfd_halted())
        return tfd_halt_fail(st);
    return shared->whole ? TFD_OK : fail_jxl(r, st);
}

static enum tfd_code read_pixels(struct reading *r,
                                 struct tfd_picture_sink *sink,
                                 struct tfd_status *st)
{
    const size_t want =
        (size_t)(r->size.height * r->size.width * r->size.channels);
    const size_t size = sizeof(struct jxl_shared) + want;
    struct jxl_shared *shared;
    enum tfd_code rc;
    uint8_t *to;

    TFD_TRY(sink->room(sink, &r->size, &to, st));
    shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when decoding a JPEG XL of %zu bytes", want);
    rc = run_child(r, shared, want, st);
    if (rc == TFD_OK)
        memcpy(to, shared + 1, want);
    (void)munmap(shared, size);
    return rc;
}

static enum tfd_code read_jxl(struct reading *r, int64_t channels,
                              struct tfd_picture_sink *sink,
                              struct tfd_status *st)
{
    r->given = piece_of(r) < r->file.size ? piece_of(r) : r->file.size;
    if (jxl.subscribe(r->d, JXL_HAS_INFO) != 0 ||
        jxl.input(r->d, (const uint8_t *)r->file.data, r->given) != 0)
        return fail_jxl(r, st);
    TFD_TRY(read_header(r, channels, st));
    return read_pixels(r, sink, st);
}

enum tfd_code tfd_jxl_decode(struct tfd_str file, int64_t channels,
                             struct tfd_picture_sink *sink,
                             struct tfd_status *st)
{
    const struct jxl_memory memory = {NULL, take_counted, give_counted_back};
    struct reading r = {.file = file};
    enum tfd_code rc;

    TFD_TRY(need_jxl(st));
    r.d = jxl.open(&memory);
    if (!r.d)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when opening a JPEG XL");
    rc = read_jxl(&r, channels, sink, st);
    jxl.close(r.d);
    tfd_buffer_unref(r.count);
    return rc;
}
