"""Questions written in SQL: the statement, what it may hold, and the query it means."""
