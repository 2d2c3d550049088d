"""Release tasks, above all those that are stuck."""
