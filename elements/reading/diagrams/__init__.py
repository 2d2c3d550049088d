"""Diagrams of versions: as content, with everything drawn, and as pictures."""
