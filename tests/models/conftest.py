"""Hypothesis without a deadline: a slow moment of a shared machine is not a failure."""

from hypothesis import settings

settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
