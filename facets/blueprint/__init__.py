"""The type configuration as immutable values. Pure: no files, no database."""
