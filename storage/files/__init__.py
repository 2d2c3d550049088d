"""Files of a storage: receiving, content, rows, responses and texts (D446 to D455)."""

# Where files are, below the address of the storage.
FILES_PATH = "_api/rest/files/"
