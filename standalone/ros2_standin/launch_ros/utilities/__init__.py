"""Helpers of the actions."""
