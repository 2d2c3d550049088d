"""Handing over the work of one person to another (D474)."""
