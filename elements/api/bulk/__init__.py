"""Bulk changes in the API."""
