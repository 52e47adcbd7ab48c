"""What was not declared, learned within the budget: types, values, bounds, bins."""
