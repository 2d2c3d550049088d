"""Elements over HTTP."""
