"""The default: select, measure and refit by expected gain."""
