"""Users and groups of a storage, and the elements that represent API tokens."""
