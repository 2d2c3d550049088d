"""Layered layout of a flow: sizes and links become positions and lines."""
