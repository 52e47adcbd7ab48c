"""Release sensitive tables safely."""
