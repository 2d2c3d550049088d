"""Tables of elements: cells, files, export and import."""
