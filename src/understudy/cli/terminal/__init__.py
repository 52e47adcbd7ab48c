"""What a command shows: one printer, colours, layout, plots and progress, and how it ends."""
