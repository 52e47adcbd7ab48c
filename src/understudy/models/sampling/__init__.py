"""Rows from a model: rounding, exchange towards target marginals, conditions, generated
persons.
"""
