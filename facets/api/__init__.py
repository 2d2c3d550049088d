"""Facets, views and their configuration over HTTP."""
