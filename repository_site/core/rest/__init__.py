"""The floor of every app's API: errors, envelopes, JSON in and out, api-versions, throttling, OpenAPI hooks.

Imports no app, so that every app may import it.
"""
