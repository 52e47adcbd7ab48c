"""Inference: estimates and intervals for a population from what was released, not from
rows.

`combining_rules` has the rules for several synthetic copies, `analysis` fits a model on
each and applies them.
"""
