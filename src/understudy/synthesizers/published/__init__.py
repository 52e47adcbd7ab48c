"""Algorithms of the literature, one module each."""
