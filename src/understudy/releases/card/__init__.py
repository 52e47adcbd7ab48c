"""Which questions a release answers well, and which columns it lost."""
