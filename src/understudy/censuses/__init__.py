"""Census releases: counts for every unit of a geographic hierarchy, with invariants and
structural zeros, consistent at all levels. Works on noisy counts alone.
"""
