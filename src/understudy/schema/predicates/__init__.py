"""Predicates and rules: their tree, grammar, and meaning on values and on cells."""
