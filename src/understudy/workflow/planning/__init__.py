"""Plans: what a run would cost and how exact it would be, before anything is spent."""
