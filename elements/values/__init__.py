"""Attribute values: validation, HTML and its display."""
