"""Forms and lists that edit a draft of the whole type configuration."""
