"""Permission sets in the API."""
