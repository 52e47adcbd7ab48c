"""The private DuckDB connection, and the SQL that is sent to it."""
