"""Template files: read, check and write them."""
