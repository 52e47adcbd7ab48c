"""What a synthetic table keeps, and who could be found in it. Reads real rows:
internal.
"""
