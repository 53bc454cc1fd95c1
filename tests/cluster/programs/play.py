"""Plays sample programs, unmodified, each as the __main__ of this process.

  play.py --target grpc://HOST:PORT --ps COUNT [--only TEXT]
      [--without TEXT] PROGRAM...

A program compares what a cluster answers with its own run in process and
prints a line for each of its variants: "ok NAME ..." or "FAIL NAME ...".
Runs under Python 3.7 too, so it imports nothing of the other tests."""
import argparse
import contextlib
import io
import os
import runpy
import sys
import traceback


class Heard(io.StringIO):
    """Keeps what is printed and passes it on at once: a test that is killed
    has shown how far it came."""

    def write(self, text):
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def lines_of(program, arguments):
    """The lines that a program prints; its failure is an AssertionError."""
    folder = os.path.dirname(program)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    kept, sys.argv = sys.argv, [program] + arguments
    try:
        with contextlib.redirect_stdout(Heard()) as heard:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        assert not end.code, "%s: exit %s" % (program, end.code)
    finally:
        sys.argv = kept
    return heard.getvalue().splitlines()


def play(program, target, ps, wanted=lambda variant: True):
    """Every wanted variant that the program lists must print ok, and none
    FAIL."""
    name = os.path.basename(program)[:-len(".py")]
    whole = lines_of(program, ["--list"])
    listed = [variant for variant in whole if wanted(variant)]
    assert listed, "%s lists no variant" % name
    lines = []
    for variant in ["all"] if listed == whole else listed:
        lines += lines_of(program, ["--target", target, "--ps", str(ps),
                                    "--variant", variant])
    failed = [line for line in lines if line.startswith("FAIL ")]
    assert not failed, "\n".join(failed)
    passed = [line.split()[1] for line in lines if line.startswith("ok ")]
    assert passed == ["%s/%s" % (name, variant) for variant in listed], (
        "%s: %d of %d variants ok" % (name, len(passed), len(listed)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--ps", type=int, required=True)
    parser.add_argument("--only", default="", help="of variants: a beginning")
    parser.add_argument("--without", default="-", help="likewise")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    options = parser.parse_args()
    bad = 0
    for program in options.programs:
        try:
            play(program, options.target, options.ps,
                 lambda name: (name.startswith(options.only) and
                               not name.startswith(options.without)))
        except Exception:  # whatever it was, the others run
            traceback.print_exc()
            bad += 1
    print("%d of %d programs failed" % (bad, len(options.programs)))
    return 1 if bad else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # A program may leave threads that wait for a step which never ends.
    os._exit(status)
