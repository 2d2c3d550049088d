"""Faults under load: the service recovers by itself and loses nothing that it has acknowledged."""
