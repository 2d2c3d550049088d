"""Changes to a stored type configuration."""
