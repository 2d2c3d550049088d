"""Operations on files."""
