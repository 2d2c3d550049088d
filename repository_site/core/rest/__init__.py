"""The parts that every API shares: errors, envelopes, JSON, api-versions, throttling, OpenAPI. Imports no app."""
