"""Hypothesis without a deadline: the machines that run the tests are shared, and a slow moment is not a failure."""

from hypothesis import settings

settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
