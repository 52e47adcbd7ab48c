"""Masked copies: made, and tuned under a risk target."""
