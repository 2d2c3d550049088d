"""Prometheus metrics of all worker processes: recording, and the page `/metrics` (D159)."""
