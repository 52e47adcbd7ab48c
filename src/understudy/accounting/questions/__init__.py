"""The account of questions: one long run, limits for each analyst, scopes of a
partition.
"""
