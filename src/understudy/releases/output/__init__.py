"""Synthetic rows as frames and files."""
