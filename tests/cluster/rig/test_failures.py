"""What the end of a run of all suites says of the tests that failed."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from tests.cluster.suite import test

TESTS = pathlib.Path(__file__).parents[2]


def failures(text):
    """The lines that tests/failures prints of a log."""
    with tempfile.NamedTemporaryFile("w") as log:
        log.write(text)
        log.flush()
        return subprocess.run([TESTS / "failures", log.name], check=True,
                              stdout=subprocess.PIPE,
                              text=True).stdout.splitlines()


def block(name, count):
    return ["FAIL " + name] + ["     line %d" % i for i in range(2, count + 1)]


@test()
def a_failed_test_is_shown_with_what_it_said(server):
    want = ["FAIL a.b (0.1 s)", "     ps0| cannot listen", "     Traceback",
            "", "     AssertionError: 3"]
    for end in ("ok   a.c (0.1 s)", "skip a.c - no GPU", "31 s\n1 passed, "
                "1 failed, 0 skipped", ""):
        got = failures("ok   a.a (0.0 s)\n%s\n%s\n" % ("\n".join(want), end))
        assert got[:5] == want, got
        assert got[5:] in ([], [""]), got


@test()
def what_passed_is_not_shown(server):
    for text in ("", "ok   a.a\nskip a.b - FAIL of it\n2 passed, 0 failed, "
                 "1 skipped\n", "make: *** [all] Error 2\n",
                 "ok   play\n     FAIL inside\n"):
        assert failures(text) == [], text


@test()
def failures_of_other_runners_are_shown(server):
    cmocka = ["FAILED build/tests/test_loop (exit 1)",
              "[  ERROR   ] --- 0x1 != 0x2", "[  FAILED  ] test_a"]
    noise = ["[ RUN      ] test_b", "[       OK ] test_b"]
    assert failures("\n".join(cmocka[:1] + noise + cmocka[1:])) == cmocka
    python = ["ERROR: test_a (tests.x)", "Traceback", "KeyError: 'b'"]
    text = "=" * 70 + "\n%s\n" + "=" * 70 + "\n"
    assert failures(text % "\n".join(python) + "FAIL: test_b\n") == python + [
        "FAIL: test_b"]
    static = ["FAIL static.needs_glibc_only", "libfoo.so.1"]
    assert failures("\n".join(static + ["ok   static.serves"])) == static


@test()
def long_output_keeps_its_beginning_and_its_end(server):
    assert failures("\n".join(block("a", 40))) == block("a", 40)
    got, all_lines = failures("\n".join(block("a", 1000))), block("a", 1000)
    assert got[:8] == all_lines[:8] and got[9:] == all_lines[-32:], got
    assert got[8] == "     ... 960 lines", got[8]


@test()
def many_failures_are_counted(server):
    text = "\n".join(line for i in range(100) for line in block("t%d" % i, 3))
    got = failures(text)
    assert got[:6] == block("t0", 3) + block("t1", 3)
    assert got[-4:] == block("t11", 3) + ["... and 88 more"]


def run_suites(*rows):
    """The output of tests/run in a folder where its table has these rows."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/tests")
        for name in ("failures", "limited"):
            shutil.copy(TESTS / name, folder + "/tests")
        head, _, tail = (TESTS / "run").read_text().partition("cluster=(")
        tail = tail[tail.index("# What the tests are of"):]
        runner = pathlib.Path(folder + "/tests/run")
        runner.write_text("%s%s\n%s" % (
            head, "\n".join("suite first " + row for row in rows), tail))
        runner.chmod(0o755)
        return subprocess.run(
            [runner] + [row.split()[0] for row in rows], text=True,
            stderr=subprocess.STDOUT, stdout=subprocess.PIPE)


@test()
def a_run_ends_with_what_its_failures_said(server):
    done = run_suites("""fake 10 bash -c 'echo "FAIL a.b"; echo "     no port"
        seq 200; echo "ok   a.c"; echo "1 passed, 1 failed, 0 skipped"
        exit 1'""",
                      """good 10 bash -c 'seq 300
        echo "300 passed, 0 failed, 0 skipped"'""")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[-1] == "301 passed, 1 failed, 0 skipped", lines[-1]
    assert lines[-2].endswith(" s"), lines[-2]
    assert lines[-4:-2] == ["--- fake:", "FAIL a.b"], lines[-4:]
    end = lines[lines.index("--- fake, what failed:"):]
    assert end[1:3] == ["FAIL a.b", "     no port"], end[:9]
    assert len(end) == 1 + 41 + 4, end
    assert lines[-47].startswith("good "), lines[-47]


@test()
def a_suite_that_names_no_test_ends_with_its_last_lines(server):
    for command, limit, code in (
            ("seq 99; echo 'x.c:3: error: y'; exit 2", 9, 2),
            ("seq 99; echo 'x.c:3: error: y'; kill -9 $$", 9, 137),
            ("echo 'FAIL a.b'; echo 'x.c:3: error: y'; read <> <(:)", 1, 124)):
        done = run_suites("fake %d bash -c %s" % (
            limit, "'" + command.replace("'", "'\\''") + "'"))
        assert done.returncode == 1, command
        end = done.stdout.partition("--- fake, what failed:\n")[2]
        assert "exit code %d after:\n" % code in end, end
        assert "x.c:3: error: y" in end.partition("after:\n")[2], end
        assert end.endswith("0 passed, 1 failed, 0 skipped\n"), end


@test()
def a_run_without_failures_ends_with_its_sum(server):
    done = run_suites("fake 9 true")
    assert done.returncode == 0 and "---" not in done.stdout, done.stdout
    assert done.stdout.endswith(" s\n1 passed, 0 failed, 0 skipped\n")
