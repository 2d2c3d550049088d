"""Template files: reading, checking and writing them."""
