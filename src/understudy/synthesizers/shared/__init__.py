"""What several algorithms share, so that none of them is a library of another."""
