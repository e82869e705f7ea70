"""Bags: recorded, played, described and repaired."""
