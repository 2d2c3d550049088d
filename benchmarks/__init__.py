"""What the service costs, measured over real HTTP against what the database and a JSON writer alone would cost.

`python -m benchmarks` (or `make bench`) runs it; RESULTS.md is what it wrote last.
"""
