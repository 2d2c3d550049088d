"""Permission sets in the back office."""
