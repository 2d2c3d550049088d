"""Files of a storage: receiving, content, rows and responses (D450 to D455)."""
