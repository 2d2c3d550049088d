"""Decisions of changes: from a request and the current state to a plan. Nothing here reads or writes the database."""
