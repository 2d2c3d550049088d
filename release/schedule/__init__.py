"""Scheduled lifecycle jobs."""
