"""Questions answered from a release, with intervals."""
