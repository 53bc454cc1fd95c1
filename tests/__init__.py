"""Tests that drive tfd from outside, run as modules from the root."""
import os

# Here, as it must be said before anything imports TensorFlow.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# The oracle computes with plain kernels: oneDNN's differ in the last bits.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
