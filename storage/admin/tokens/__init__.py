"""Back-office pages for API tokens."""
