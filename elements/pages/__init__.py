"""The reader pages, to which `appUrl` and `gotoUrl` lead."""
