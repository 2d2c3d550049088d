"""The type configuration in the back office of a storage."""
