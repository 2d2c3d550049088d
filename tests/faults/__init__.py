"""Faults under load: no acknowledged change is lost, and the service recovers by itself."""
