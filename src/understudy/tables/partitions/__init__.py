"""Tables whose rows lie in partitions: every question is asked of each, and answers add up."""
