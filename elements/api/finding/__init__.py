"""Operations that find elements: the full-text search, and permalinks."""
