"""Forms and lists over a draft of the whole type configuration."""
