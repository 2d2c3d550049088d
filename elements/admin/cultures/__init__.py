"""Pages about the cultures of a storage."""
