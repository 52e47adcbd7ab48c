"""From measurements to a model: empirical Bayes priors, maximum entropy in stages."""
