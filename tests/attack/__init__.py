"""Fuzzing of a running server by its OpenAPI document: schemathesis, with tokens of every role and of another tenant.

`make attack` tries everything and notes what it has tried; tests try a part of it with every run.
"""
