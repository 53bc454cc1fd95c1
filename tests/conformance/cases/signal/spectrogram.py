"""Cases of kernels/signal/spectrogram.c."""
import numpy as np

from tests.conformance.inputs import Data, x
from tests.conformance.table import bad, c, once, row

WAVE = np.sin(np.arange(80) * .7).reshape(40, 2)
row("AudioSpectrogram", [
    *(c(WAVE, window_size=w, stride=s) for w, s in (
        (8, 4), (6, 3), (5, 5), (2, 1), (3, 1), (16, 30), (40, 1), (41, 1),
        (100, 7), (32, 100))),
    c(WAVE, window_size=16, stride=8, magnitude_squared=True),
    c(x(0, 2), window_size=4, stride=2), c(x(7, 0), window_size=4, stride=2),
    c(x(20, 1), window_size=7, stride=2), c(x(30, 5), window_size=9, stride=3),
    once(x(4000, 2), window_size=480, stride=160),
    bad(x(20), window_size=4, stride=2),
    bad(x(2, 2, 2), window_size=4, stride=2)])

POWER = Data(0, 2)
row("Mfcc", [
    c(x(2, 3, 129), 16000), c(x(1, 2, 257), 8000), c(x(1, 2, 513), 44100),
    c(x(2, 3, 129), 16000, dct_coefficient_count=40),
    c(x(2, 3, 129), 16000, dct_coefficient_count=1),
    c(x(2, 3, 129), 16000, filterbank_channel_count=20),
    c(x(2, 3, 129), 16000, filterbank_channel_count=400),
    c(x(2, 3, 129), 16000, lower_frequency_limit=0.0),
    c(x(2, 3, 129), 16000, lower_frequency_limit=300.0,
      upper_frequency_limit=7900.0),
    c(x(2, 3, 129), 16000, upper_frequency_limit=9000.0),
    c(x(2, 3, 129), 1), c(x(0, 2, 129), 16000), c(x(2, 0, 129), 16000),
    c(np.full([1, 1, 129], np.nan), 16000),
    c(np.full([1, 1, 129], -1), 16000), c(np.zeros([1, 1, 129]), 16000),
    bad(x(3, 129), 16000), bad(x(2, 2, 2, 129), 16000),
    bad(x(2, 3, 129), 0), bad(x(2, 3, 129), -5), bad(x(2, 3, 129), [16000]),
    bad(x(2, 3, 129), [1, 2]), bad(x(1, 1, 0), 16000), bad(x(1, 1, 1), 16000),
    bad(x(2, 3, 129), 16000, upper_frequency_limit=10.0),
    bad(x(2, 3, 129), 16000, upper_frequency_limit=0.0),
    bad(x(2, 3, 129), 16000, lower_frequency_limit=-1.0),
    bad(x(2, 3, 129), 16000, lower_frequency_limit=4000.0),
    bad(x(2, 3, 129), 16000, filterbank_channel_count=0),
    bad(x(2, 3, 129), 16000, filterbank_channel_count=-1),
    bad(x(2, 3, 129), 16000, dct_coefficient_count=0),
    bad(x(2, 3, 129), 16000, dct_coefficient_count=-1),
    bad(x(2, 3, 129), 16000, dct_coefficient_count=41)], POWER)
