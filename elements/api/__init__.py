"""The HTTP API of elements, diagrams, reporting and type schemas."""
