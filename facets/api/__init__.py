"""The HTTP API of facets, views and their type configuration."""
