"""Backup and restore of one storage: file format, writing and restoring."""
