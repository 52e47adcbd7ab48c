"""What nobody declared, learned inside the budget: types, values, bounds, bins."""
