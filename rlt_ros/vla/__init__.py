"""The VLA contract and its backends."""
