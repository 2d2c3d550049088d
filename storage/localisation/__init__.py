"""Cultures, regions and time zones."""
