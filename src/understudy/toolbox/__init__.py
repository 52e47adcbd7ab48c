"""Algorithms that are more than one number: what they ask the curator, and what is made
of the noisy answers. Nothing here reads a row or draws noise.
"""
