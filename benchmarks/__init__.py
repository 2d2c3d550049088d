"""Benchmark of the service over HTTP, compared with bare database and JSON code and with plain Django REST framework.

`python -m benchmarks` (or `make bench`) runs it and writes RESULTS.md.
"""
