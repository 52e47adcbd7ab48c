"""Reports: one self-contained page about a release, and its JSON twin."""
