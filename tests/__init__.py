"""Tests that drive tfd from outside; run as modules from the repository root."""
