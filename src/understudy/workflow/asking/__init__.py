"""Several questions together, and questions whose groups come from rows."""
