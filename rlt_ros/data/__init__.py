"""Demonstrations, normalisation statistics, the Stage-1 checkpoint directory."""
