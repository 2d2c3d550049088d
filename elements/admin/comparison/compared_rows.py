"""Rows of the tables that show values before and after, or of two versions."""

from __future__ import annotations

from dataclasses import dataclass

from elements.comparing.differences import ListDifference, Mark, TextDifference


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """`is_hidden` says that values differ whose texts are the same, such as markup with another format."""

    label: str
    difference: TextDifference | ListDifference
    is_hidden: bool = False

    @property
    def differs(self) -> bool:
        return self.is_hidden or self.difference.differs

    @property
    def mark(self) -> Mark:
        return Mark.CHANGED if self.is_hidden else self.difference.mark
