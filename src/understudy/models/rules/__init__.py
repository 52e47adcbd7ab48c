"""Rules of the data on codes and values: structural zeros, repair, satisfiability."""
