"""The type configuration as rows: read, write, and edit a draft."""
