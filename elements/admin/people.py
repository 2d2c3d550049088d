"""Users and groups of the storage."""
