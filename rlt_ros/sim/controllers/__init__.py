"""Simulated controllers, each with the semantics of the real one that a command back-end talks to."""
