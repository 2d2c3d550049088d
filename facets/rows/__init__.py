"""The type configuration as rows: reading, writing and editing a draft of them."""
