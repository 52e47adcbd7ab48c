"""What a cell says, as SQL: codes, numbers, moments, votes for a type, broken rules."""
