"""A census: checked, planned and released."""
