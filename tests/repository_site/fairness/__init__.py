"""Tests of fairness between storages and callers."""
