"""The pages for readers, behind `appUrl` and `gotoUrl`."""
