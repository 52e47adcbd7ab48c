"""What a census release writes: rows, tables, measurements, figures and the card."""
