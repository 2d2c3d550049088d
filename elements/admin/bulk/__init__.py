"""Bulk changes in the back office: choose, preview, run, report (D471)."""
