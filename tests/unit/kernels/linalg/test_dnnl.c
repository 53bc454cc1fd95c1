/*
 * test_dnnl.c - kernels/linalg/dnnl.c: whether oneDNN is opened.
 *
 * The library is looked for once in a process, so this program runs itself
 * again, with an argument and as a process that may not make code.
 */
#define _GNU_SOURCE 1

#include "kernels/linalg/dnnl.h"
#include "kernels/linalg/gemm.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Since Linux 6.3: what systemd's MemoryDenyWriteExecute is for all children.
 */
#define SET_MDWE 65
#define REFUSE_EXEC_GAIN 1

#define CANNOT_DENY 77

static bool product(float *c)
{
    static const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    const struct tfd_gemm g = {.dtype = TFD_FLOAT,
                               .m = 2,
                               .n = 2,
                               .k = 2,
                               .a = a,
                               .b = b,
                               .c = c,
                               .lda = 2,
                               .ldb = 2,
                               .ldc = 2};

    return tfd_gemm_dnnl(&g);
}

/* The exit code. */
static int be_denied(void)
{
    float c[4] = {0};

    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
        return CANNOT_DENY;
    return tfd_dnnl() || tfd_dnnl() || product(c);
}

static int run(const char *argument, char *text, size_t size)
{
    int ends[2], status;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        execl("/proc/self/exe", "test_dnnl", argument, (char *)NULL);
        _exit(CANNOT_DENY + 1);
    }
    close(ends[1]);
    while (used + 1 < size &&
           (n = read(ends[0], text + used, size - used - 1)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_process_that_may_not_make_code(void **state)
{
    char text[4096], *first;
    int code = run("denied", text, sizeof(text));

    (void)state;
    if (code == CANNOT_DENY) {
        print_message("this kernel has no PR_SET_MDWE\n");
        skip();
    }
    assert_int_equal(code, 0);
    first = strstr(text, "no_onednn why=\"memory may not become code");
    assert_non_null(first);
    assert_null(strstr(first + 1, "no_onednn"));
}

static void test_a_product(void **state)
{
    float c[4] = {0};

    (void)state;
    if (!tfd_dnnl()) {
        print_message("oneDNN is not installed\n");
        skip();
    }
    assert_ptr_equal(tfd_dnnl(), tfd_dnnl());
    assert_true(product(c));
    assert_float_equal(c[0], 19, 0);
    assert_float_equal(c[1], 22, 0);
    assert_float_equal(c[2], 43, 0);
    assert_float_equal(c[3], 50, 0);
}

/* ---- Signals ------------------------------------------------------------- */

static uintptr_t stack_low, stack_high;
static volatile sig_atomic_t alarms, astray;

/* Its frame lies where the stack pointer was. */
static void on_alarm(int number)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    (void)number;
    alarms++;
    if (here < stack_low || here >= stack_high)
        astray++;
}

static void find_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t size;

    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &low, &size), 0);
    stack_low = (uintptr_t)low;
    stack_high = stack_low + size;
    pthread_attr_destroy(&attr);
}

/* One with a long sum and one with a short one, of rows as a layer has them. */
static void multiply_long(void)
{
    static float a[100 * 784], b[784 * 128], c[100 * 128];
    struct tfd_gemm g = {.dtype = TFD_FLOAT,
                         .m = 100,
                         .n = 128,
                         .k = 784,
                         .a = a,
                         .b = b,
                         .c = c,
                         .lda = 784,
                         .ldb = 128,
                         .ldc = 128};

    assert_true(tfd_gemm_dnnl(&g));
    g.k = 100;
    g.m = 784;
    g.lda = 100;
    g.c = b;
    g.b = c;
    assert_true(tfd_gemm_dnnl(&g));
}

static void test_no_signal_comes_while_it_works(void **state)
{
    const struct itimerval often = {{0, 100}, {0, 100}},
                           never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}, before;

    (void)state;
    if (!tfd_dnnl()) {
        print_message("no oneDNN\n");
        skip();
    }
    find_stack();
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 100000 && (i < 300 || alarms < 100); i++)
        multiply_long();
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_true(alarms >= 100);
    assert_int_equal(astray, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_may_not_make_code),
        cmocka_unit_test(test_a_product),
        cmocka_unit_test(test_no_signal_comes_while_it_works),
    };

    if (argc > 1 && !strcmp(argv[1], "denied"))
        return be_denied();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
