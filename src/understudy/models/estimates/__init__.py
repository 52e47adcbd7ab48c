"""What measurements say of marginals: loss terms, pooled least squares, consistency,
shrinkage.
"""
