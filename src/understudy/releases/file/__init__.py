"""The release file: an archive of one JSON document and plain arrays."""
