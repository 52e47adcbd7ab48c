"""One module per command: its options, what it calls, and what it prints."""
