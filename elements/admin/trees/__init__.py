"""The trees of a storage in its back office."""
