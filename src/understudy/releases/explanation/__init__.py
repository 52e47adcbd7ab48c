"""Why each marginal was measured, or was not, as text, as a table and as a picture."""
