"""Webhooks (D360 to D369): changing them, their credentials, and the messages that are sent to them."""
