"""Addresses that existing tools use: reporting of `_api/v1` and elements of `_api/v2` (D579 to D581)."""
