"""What a card can do at most, from its vendor's data sheet, and shares of it.

The peaks of a card are a tuple: dense bfloat16 TFLOP/s, memory GB/s, and GB/s
of 16 lanes of its link one way; an entry that is None is not known, or there
is no such arithmetic.  TFLOPS, MEMORY and LINK are the places in it."""
import re

TFLOPS, MEMORY, LINK = range(3)
WORDS = ("TFLOP/s in bfloat16", "GB/s of memory", "GB/s of the link")

PCIE_3, PCIE_4, PCIE_5 = 15.75, 31.5, 63.0  # 128 bits of 130 carry data
PEAKS = {  # by the names that drivers give
    "A100-PCIE-40GB": (312, 1555, PCIE_4),
    "A100-SXM4-40GB": (312, 1555, PCIE_4),
    "A100 80GB PCIe": (312, 1935, PCIE_4),
    "A100-SXM4-80GB": (312, 2039, PCIE_4),
    "B200": (2250, 8000, PCIE_5),
    "GeForce RTX 4090": (165.2, 1008, PCIE_4),
    "H100 80GB HBM3": (989.4, 3350, PCIE_5),
    "H100 NVL": (835.5, 3900, PCIE_5),
    "H100 PCIe": (756.5, 2000, PCIE_5),
    "H200": (989.4, 4800, PCIE_5),
    "H200 NVL": (835.5, 4800, PCIE_5),
    "L4": (121, 300, PCIE_4),
    "L40S": (362.05, 864, PCIE_4),
    "T4": (None, 320, PCIE_3),
    "V100-PCIE-16GB": (None, 900, PCIE_3),
    "V100-PCIE-32GB": (None, 900, PCIE_3),
    "V100-SXM2-16GB": (None, 900, PCIE_3),
    "V100-SXM2-32GB": (None, 900, PCIE_3),
}


def of_card(name):
    """Those of the card that a driver calls so; None of an unknown one."""
    return PEAKS.get(re.sub("^(NVIDIA|Tesla) ", "", name or ""))


def parsed(text):
    """TFLOPS,GB,LINK; what is empty is not known."""
    parts = [float(part) if part else None for part in text.split(",")]
    if len(parts) != 3 or any(p is not None and not p > 0 for p in parts):
        raise ValueError(text)
    return tuple(parts)


def said(peaks):
    return ", ".join("%g %s" % (peak, words)
                     for peak, words in zip(peaks, WORDS) if peak)


def peak_of(case, peaks):
    """The one that a case is held against; None where there is none."""
    return peaks[case.peak] if peaks and case.peak is not None else None


def quotients(case, medians, peak):
    """{title: a quotient of its section, or None where a number lacks}."""
    found = {}
    for title, above, below in case.section.quotients:
        a, b = medians[above], medians[below] if below else peak
        found[title] = a / b if a is not None and b else None
    return found
