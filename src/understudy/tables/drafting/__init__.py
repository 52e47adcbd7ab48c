"""A draft of a schema for its owner, from a look at the rows."""
