"""A conformance suite for synthesizers, also for those of other packages."""
