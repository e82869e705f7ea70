"""Measurements, one JSON line each: `make bench`, `make bench-replay`. Ratios are of figures of the same run."""
