"""Moving the elements of a storage as NDJSON, one element version per line, in the wire form of the API (D27)."""
