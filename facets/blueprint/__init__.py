"""The type configuration as immutable values, without files or database."""
