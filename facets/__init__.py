"""The type configuration of a storage: facets, views, types and properties as data."""
