"""Schema files: YAML in and out, with errors by line."""
