"""Back-office pages for webhooks."""
