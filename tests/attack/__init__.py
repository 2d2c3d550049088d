"""Fuzzing of a running server by its OpenAPI document: schemathesis, with tokens of every role and of another tenant.

`make attack` runs all cases and prints figures; the tests run a part of them.
"""
