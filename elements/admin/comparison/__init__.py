"""Differences between versions: the versions of an element side by side, and the history of its changes."""
