"""Audits: attempts to refute the promise of a run, with a known chance of a false alarm."""
