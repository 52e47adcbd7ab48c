"""Attacks that teach and test: each shows what goes wrong without noise, on made data
or on tables the reader brings.
"""
