"""Algorithms as questions of a session: charged, stored and audited like any other."""
