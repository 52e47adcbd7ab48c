"""Inference: estimates and intervals for a population from what was released, not from
rows.

`combining_rules` has the rules for several synthetic copies, `analysis` fits a model on
each and applies them. `contrast_model` is fitted to the noisy marginals of a private
release; `population` and `population_means` estimate from it, `posterior_copies` draws
tables.
"""
