"""The larger sample programs, unmodified: tiers B and C.  Those that want oneDNN
in the client are tests of programs/."""
from tests.cluster.programs.play import play
from tests.cluster.programs.test_programs import path_of
from tests.cluster.suite import test

# What no server of another process can run: a generator in the client's own
# Python; and variants for TensorFlow 1 alone, which 2 lists and passes over.
WITHOUT = {
    "b04_rnn": ("block", "cudnn_compat", "keras_lstm"),
    "b05_seq2seq": ("bahdanau", "luong"),
    "c03_tfdata": ("gen",),
}
NAMES = ("b02_word2vec", "b03_wide_deep", "b04_rnn", "b05_seq2seq",
         "b06_sparse_logreg", "b08_rl", "c02_queue_input", "c03_tfdata",
         "c04_images", "c05_parse_example", "c06_control_flow", "c07_pyfunc",
         "c08_strings", "c09_transformer", "c10_math_sweep")


def register(name):
    def run(cluster):
        without = WITHOUT.get(name, ())
        play(path_of(name), cluster.target(), 1,
             lambda variant: variant not in without)
    run.__name__ = name
    test(limit=300, ps=1, worker=2)(run)


for _name in NAMES:
    register(_name)
