"""The storage app over HTTP: who calls, storage info, and the administrative contexts."""
