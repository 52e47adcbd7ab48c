"""Runs without rows or with made ones: dry runs, imagined populations, canaries."""
