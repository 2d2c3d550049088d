"""JSON Schemas of the configured types."""
