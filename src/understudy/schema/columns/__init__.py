"""Columns: types, domains, codecs, and what a cell of each says."""
