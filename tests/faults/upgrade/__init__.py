"""Migrations that a later release might bring, to be applied while the service runs."""
