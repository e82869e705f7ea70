"""Shapes of the peg and of the hole that takes it; one module for each."""
