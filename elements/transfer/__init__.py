"""Moving the elements of a storage as NDJSON, one element version a line, in the wire form of the API (D27)."""
