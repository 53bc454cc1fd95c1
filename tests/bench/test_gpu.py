"""test_gpu.py - the driver of the benches on a card, with small shell scripts
in place of tfd, nets and PyTorch: its arithmetic, and what it makes of
programs that fail."""
import importlib.machinery
import importlib.util
import json
import os
import re
import select
import signal
import sys
import tempfile
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 30  # seconds for one start of the driver

# Says what tfd says of its card, opens a "port", waits to be ended.  The port
# is 1 with a card and 2 without.
TFD = r"""
for a in "$@"; do case $a in --port_file=*) file=${a#*=};; esac; done
port=1
[ -n "${CUDA_VISIBLE_DEVICES-0}" ] || port=2
echo $$ >"$HERE/server.$port"
echo server $port >>"$HERE/calls"
if [ $port = 1 ] && [ -z "$CARD" ]; then
    echo 'INFO no_gpu why="no driver was found"' >&2
elif [ $port = 1 ]; then
    echo "INFO gpus count=1 of=1 taken=\"GPU:0 ($CARD, 9 MiB)\"" >&2
fi
trap 'exit 0' TERM
echo $port >"$file.new"; mv "$file.new" "$file"
sleep 1000 & wait
"""

# Answers the Nth time with word N of the file that is named as its command.
NETS = r"""
echo nets "$@" >>"$HERE/calls"
answer() {
    n=$(cat "$HERE/n.$1" 2>/dev/null || echo 1)
    echo $((n + 1)) >"$HERE/n.$1"
    cut -d' ' -f"$n" "$HERE/$1" 2>/dev/null || echo 1
}
"""
NETS_ANSWERS = r"""
case $1 in
train) echo "steps_per_s $(answer nets.train) loss 0.5";;
matmul) echo "tflops $(answer nets.matmul)";;
elementwise) echo "gbytes_per_s $(answer nets.elementwise)";;
copy) echo "gbytes_per_s $(answer nets.copy)";;
step) echo "us $(answer "nets.${4##*:}")";;
esac
"""
TORCH = NETS.replace("echo nets", "echo torch") + r"""
echo "$TORCHINDUCTOR_CACHE_DIR" >>"$HERE/caches"
[ "$1" = serve ] || exit 0
while read -r line; do
    echo "torch $line" >>"$HERE/calls"
    case $line in
    train*--compiled*) file=compiled key=steps_per_s;;
    train*) file=eager key=steps_per_s;;
    matmul*) file=torch.matmul key=tflops;;
    *--pinned*) file=pinned key=gbytes_per_s;;
    *) file=pageable key=gbytes_per_s;;
    esac
    echo "$key $(answer $file) as it,is"
done
"""


def loaded(path):
    """A Python program whose name does not end as one's."""
    loader = importlib.machinery.SourceFileLoader("gpu", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("gpu", loader))
    sys.modules["gpu"] = module  # dataclasses look there
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
DRIVER = loaded(os.path.join(HERE, "gpu"))


class Driver(unittest.TestCase):
    """Each test has a folder with the three programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.card = "NVIDIA H200"
        self.write("tfd", TFD)
        self.write("nets", NETS + NETS_ANSWERS)
        self.write("torch", TORCH)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        """A script; or values for one to answer with."""
        script = "\n" in text
        with open(self.path(name), "w") as file:
            file.write(script * "#!/bin/sh\n" + text + (not script) * "\n")
        os.chmod(self.path(name), 0o755)

    def read(self, name):
        try:
            with open(self.path(name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def start(self, *arguments, rounds=1):
        """Forks a driver: to start a Python each time takes most of the
        time."""
        flags = ["--rounds=%d" % rounds, "--seconds=0.25",
                 "--json=" + self.path("json")]
        flags += ["--%s=%s" % (name, self.path(name))
                  for name in ("tfd", "nets", "torch")]
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return pid
        for number, name in ((1, "output"), (2, "errors")):
            os.dup2(os.open(self.path(name), os.O_CREAT | os.O_TRUNC |
                            os.O_WRONLY, 0o600), number)
        os.environ.update(HERE=self.folder, CARD=self.card,
                          CUDA_VISIBLE_DEVICES="0",
                          PATH="/usr/bin:/bin")  # no nvidia-smi
        sys.argv, code = ["gpu", *flags, *arguments], 99
        sys.stdout = sys.__stdout__
        try:
            code = DRIVER.main()
        except SystemExit as ending:
            code = ending.code
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def end(self, pid):
        """The exit code of a driver."""
        pidfd = os.pidfd_open(pid)
        if not select.select([pidfd], [], [], LIMIT)[0]:
            os.kill(pid, signal.SIGKILL)
        os.close(pidfd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def run_driver(self, *arguments, rounds=1, code=0):
        """What it said, once it has ended with that code."""
        ended = self.end(self.start(*arguments, rounds=rounds))
        output, errors = self.read("output"), self.read("errors")
        self.assertEqual(ended, code, output + errors)
        if code != 2:
            self.assertEqual(errors, "")
        return output + errors

    def results(self):
        return {r["case"]: r for r in json.loads(self.read("json"))["results"]}

    def cells(self, output, name):
        """The numbers of a row."""
        for line in output.splitlines():
            if line.startswith(name + " ") and "failed" not in line:
                return re.findall(r"(?:^| )(-|[0-9]+\.?[0-9]*)(?= |$)",
                                  line[len(name):])
        return self.fail("no row %s in\n%s" % (name, output))

    # ---- Arithmetic ---------------------------------------------------------

    def test_shows_medians_and_their_quotients(self):
        self.write("nets.train", "100 300 200")
        self.write("eager", "100 1 150")
        self.write("compiled", "400.5 400.5 2000")
        output = self.run_driver("--cases=mlp-100", rounds=3)
        self.assertEqual(self.cells(output, "mlp-100"),
                         ["200.0", "100.0", "400.5", "2.00", "0.50"])
        result = self.results()["mlp-100"]
        self.assertEqual(result["rounds"]["tfd"], [100, 300, 200])
        self.assertEqual(result["medians"]["compiled"], 400.5)
        self.assertIn("eager: it,is", output)

    def test_median_of_an_even_count_lies_between(self):
        self.write("nets.train", "100 200")
        self.assertEqual(self.cells(self.run_driver(
            "--cases=mlp-100", rounds=2), "mlp-100")[0], "150.0")

    def test_sides_take_turns(self):
        self.run_driver("--cases=cnn-64", "--ahead=0", rounds=2)
        words = [" ".join(line.split()[:2])
                 for line in self.read("calls").splitlines()]
        turns = ["nets train", "torch train", "torch train"]
        self.assertEqual([w for w in words if "train" in w], 2 * turns)
        self.assertIn("nets train cnn 64 float 0.25 tfd://127.0.0.1:1",
                      self.read("calls"))
        self.assertIn("torch train cnn 64 float 0.25 --best --compiled",
                      self.read("calls"))

    def test_share_is_of_the_peak_of_the_card(self):
        self.write("nets.matmul", "494.7")
        self.write("torch.matmul", "800")
        self.write("nets.copy", "31.5 63")
        self.write("pageable", "6 6")
        self.write("pinned", "50 50")
        output = self.run_driver("--cases=matmul,copy")
        self.assertIn("card: NVIDIA H200", output)
        self.assertEqual(self.cells(output, "matmul-8192 TFLOP/s"),
                         ["494.7", "800.0", "0.62", "50.0", "80.9"])
        self.assertEqual(self.cells(output, "copy-h2d"),
                         ["31.50", "6.00", "50.00", "5.25", "0.63", "50.0",
                          "79.4"])

    def test_peaks_can_be_said(self):
        self.card = "Abacus 3"
        self.write("nets.matmul", "50")
        output = self.run_driver("--cases=matmul,elem", "--peak=200,,5")
        self.assertIn("25.0 %", output)
        self.assertIsNone(self.results()["elementwise-1GB"]["peak"])

    def test_unknown_card_has_no_shares(self):
        self.card = "NVIDIA H200 of tomorrow"
        output = self.run_driver("--cases=matmul")
        self.assertIn("peaks: not known of this card", output)
        self.assertEqual(self.cells(output, "matmul-8192 TFLOP/s")[3:],
                         ["-", "-"])

    def test_card_without_bfloat16_has_no_share_of_products(self):
        self.card = "Tesla V100-SXM2-16GB"
        self.write("nets.elementwise", "450")
        output = self.run_driver("--cases=matmul,elementwise")
        self.assertEqual(self.cells(output, "matmul-8192 TFLOP/s")[3], "-")
        self.assertIn("50.0 %", output)

    def test_steps_alternate_between_two_servers(self):
        self.write("nets.1", "30 32 34")
        self.write("nets.2", "20 20 20")
        output = self.run_driver("--cases=step-empty", rounds=3)
        self.assertEqual(self.cells(output, "step-empty"),
                         ["32.00", "20.00", "1.60"])

    def test_compiles_ahead_what_is_compiled(self):
        self.run_driver("--cases=mlp,matmul", "--ahead=2")
        ahead = [line for line in self.read("calls").splitlines()
                 if line.endswith("float 0 --best --compiled")]
        self.assertEqual(len(ahead), 2)
        caches = self.read("caches").split()
        self.assertEqual((len(caches), len(set(caches))), (4, 1))
        self.assertFalse(os.path.exists(caches[0]))

    def test_every_case_has_a_row(self):
        output = self.run_driver()
        for name in ("mlp-100", "mlp-8192", "cnn-64", "cnn-512",
                     "resnet50-64-float", "resnet50-64-bfloat16",
                     "matmul-8192 TFLOP/s", "elementwise-1GB GB/s",
                     "copy-h2d", "copy-d2h", "step-empty", "step-scalar"):
            self.assertNotIn("-", self.cells(output, name)[:2])

    def test_without_a_card_all_but_copies_is_measured(self):
        output = self.run_driver("--cpu")
        for name in ("mlp-100", "cnn-512", "resnet50-2x32-bfloat16",
                     "matmul-512 TFLOP/s", "elementwise-64MB GB/s",
                     "step-empty"):
            self.assertNotIn("-", self.cells(output, name)[:2])
        self.assertIn("n/a  there is no card", output)
        self.assertNotIn("nets copy", self.read("calls"))
        self.assertNotIn("server 1", self.read("calls"))
        self.assertIn("absent", self.results()["copy-d2h"])

    def test_residual_net_is_as_large_as_said(self):
        self.run_driver("--cases=resnet50-4x64-b", "--batch=4", "--side=64")
        self.assertIn("nets train resnet50 4 bfloat16 0.25 "
                      "tfd://127.0.0.1:1 64", self.read("calls"))
        self.assertIn("torch train resnet50 4 bfloat16 0.25 --best --compiled "
                      "--side 64", self.read("calls"))

    # ---- What fails ---------------------------------------------------------

    def test_failing_case_is_a_line_and_the_others_go_on(self):
        self.write("nets", NETS + r"""
[ "$3" != 100 ] || { echo 'nets: step: RESOURCE_EXHAUSTED: 9 B' >&2; exit 1; }
""" + NETS_ANSWERS)
        output = self.run_driver("--cases=mlp", code=1)
        self.assertIn("  mlp-100 tfd failed: nets ended with code 1: nets: "
                      "step: RESOURCE_EXHAUSTED: 9 B\n", output)
        self.assertEqual(self.cells(output, "mlp-100"),
                         ["-", "1.00", "1.00", "-", "-"])
        self.assertEqual(self.cells(output, "mlp-8192")[0], "1.00")

    def test_missing_program_is_said(self):
        for name, cells in (("nets", ["-", "1.00", "1.00", "-", "-"]),
                            ("tfd", ["-", "1.00", "1.00", "-", "-"]),
                            ("torch", ["1.00", "-", "-", "-", "-"])):
            with self.subTest(name):
                self.setUp()
                os.unlink(self.path(name))
                output = self.run_driver("--cases=mlp-100", code=1)
                self.assertIn(
                    "failed: %s cannot be started: No such file or directory"
                    % self.path(name), output)
                self.assertEqual(self.cells(output, "mlp-100"), cells)

    def test_python_without_pytorch_is_said(self):
        self.write("torch", "echo 'No module named torch' >&2\nexit 1\n")
        output = self.run_driver("--cases=mlp-100", code=1)
        self.assertIn("eager failed: torch ended with code 1: "
                      "No module named torch", output)

    def test_server_that_dies_is_noticed_while_its_client_hangs(self):
        self.write("nets", NETS + r"""
if [ "$3" = 100 ]; then
    kill -9 "$(cat "$HERE/server.1")"
    exec sleep 1000
fi
""" + NETS_ANSWERS)
        output = self.run_driver("--cases=mlp", rounds=2, code=1)
        self.assertIn("mlp-100 tfd failed: tfd ended with signal 9: INFO gpus",
                      output)
        self.assertEqual(self.cells(output, "mlp-8192")[0], "1.00")

    def test_server_that_ends_badly_is_said_beside_its_values(self):
        self.write("tfd", TFD.replace("exit 0", "exit 23"))
        output = self.run_driver("--cases=mlp-100", code=1)
        self.assertIn("tfd failed: tfd ended with code 23", output)
        self.assertEqual(self.cells(output, "mlp-100")[0], "1.00")

    def test_server_that_does_not_start_is_said(self):
        self.write("tfd", "echo ERROR no such flag >&2\nexit 64\n")
        output = self.run_driver("--cases=mlp-100", code=1)
        self.assertIn("tfd failed: tfd ended with code 64: ERROR no such flag",
                      output)
        self.assertIn("card: unknown", output)

    def test_server_without_a_card_is_not_measured(self):
        self.card = ""
        output = self.run_driver("--cases=mlp-100", code=1)
        self.assertIn("tfd failed: tfd has no GPU: no driver was found",
                      output)
        self.assertNotIn("nets train", self.read("calls"))

    def test_error_of_pytorch_ends_its_process_only(self):
        self.write("torch", TORCH.replace(
            "    case $line in", "    case $line in *' 100 '*) "
            "echo error OutOfMemoryError: no memory; continue;; esac\n"
            "    case $line in"))
        output = self.run_driver("--cases=mlp", "--ahead=0", code=1)
        self.assertIn("mlp-100 eager failed: OutOfMemoryError: no memory",
                      output)
        self.assertNotIn("-", self.cells(output, "mlp-8192"))
        self.assertEqual(self.read("calls").count("torch serve\n"), 4)

    def test_rounds_before_a_crash_count(self):
        self.write("torch", TORCH.replace(
            "    case $line in", '    [ "$(cat "$HERE/n.eager")" != 3 ] || '
            "kill -11 $$\n    case $line in"))
        self.write("eager", "7 9 100")
        output = self.run_driver("--cases=mlp-100", rounds=3, code=1)
        self.assertIn("eager failed: torch ended with signal 11", output)
        self.assertEqual(self.cells(output, "mlp-100")[1], "8.00")

    def test_loss_that_is_no_number_is_said(self):
        self.write("nets", "echo steps_per_s 5 loss -nan\n")
        output = self.run_driver("--cases=mlp-100", code=1)
        self.assertIn("tfd failed: the loss is not a number", output)

    def test_answer_without_a_value_is_said(self):
        for answer in ("", "steps_per_s", "steps_per_s x", "tflops 3"):
            with self.subTest(answer):
                self.write("nets", "echo %s\n" % answer)
                output = self.run_driver("--cases=mlp-100", code=1)
                self.assertIn("tfd failed: no steps_per_s in the answer",
                              output)

    def test_answer_that_does_not_come_is_not_waited_for(self):
        self.write("nets", "exec sleep 1000\n")
        output = self.run_driver("--limit=2", "--cases=step-scalar", code=1)
        self.assertIn("GPU failed: no answer in 1 s", output)
        os.unlink(self.path("nets"))
        self.write("torch", "[ $1 != serve ] || exec sleep 1000\n")
        output = self.run_driver("--limit=2", "--cases=mlp-100", code=1)
        self.assertIn("eager failed: no answer in 1 s", output)

    def test_time_that_runs_out_is_said(self):
        output = self.run_driver("--limit=0.1", "--cases=mlp,step", code=1)
        self.assertEqual(output.count("failed: no time left of --limit=0.1"),
                         10)

    def test_bad_options_are_refused(self):
        for option in ("--cases=mpl", "--cases=", "--rounds=0", "--seconds=-1",
                       "--batch=0", "--side=x",
                       "--peak=1,2", "--peak=1,2,x", "--peak=0,1,1"):
            with self.subTest(option):
                self.assertIn(option[2:].split("=")[0],
                              self.run_driver(option, code=2))

    def test_what_it_started_ends_with_it(self):
        os.mkfifo(self.path("fifo"))
        self.write("nets", 'echo $$ >"$HERE/fifo"\nexec sleep 1000\n')
        driver = self.start("--cases=mlp-100", "--ahead=0")
        with open(self.path("fifo")) as fifo:  # once nets runs
            nets = int(fifo.read())
        started = [os.pidfd_open(pid)
                   for pid in (nets, int(self.read("server.1")))]
        os.kill(driver, signal.SIGTERM)
        self.assertEqual(self.end(driver), 143)
        # One that was just being started dies with the driver, a little later.
        for process in started:
            self.assertTrue(select.select([process], [], [], 10)[0])
            os.close(process)


if __name__ == "__main__":
    unittest.main()
