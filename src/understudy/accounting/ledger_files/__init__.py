"""The file under a ledger: a private SQLite database, made whole or not at all, and its
tables.
"""
