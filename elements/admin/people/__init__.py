"""Users and groups of a storage: their lists, pages and forms."""
