"""Databases: which table an address means, and a connection to it. What is secret in an
address never leaves this room.
"""
