"""Learned policies in worlds that they were not trained in."""
