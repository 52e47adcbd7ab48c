"""What can be asked of the rows, each with its privacy argument and sensitivity."""
