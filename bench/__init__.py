"""Measurements, one JSON line each. `make bench` runs them all; ratios are of figures measured in the same run."""
