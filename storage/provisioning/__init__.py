"""Creating, describing and measuring storages."""
