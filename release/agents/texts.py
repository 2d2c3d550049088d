"""Plain text for agents, in one culture: lines with names and ids, and long texts in pieces (D586)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.functional import cached_property

from elements import derived
from elements.presentation.labels import Labels, Named
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.definitions import ElementType
from storage.localisation.cultures import fallback_order

# Characters of one answer. Agents pay for each, and their memory is limited.
MOST_TEXT = 40_000
# Elements in one list.
PAGE = 50


class AgentLabels(Labels):
    def address(self, of: Identity | VersionRow) -> str:
        """Return the reader page of a version, for people."""
        return (
            derived.page_prefix(self.reader.storage_address, self.lcid, self.reader.types[of.type].facet) + of.version
        )

    @cached_property
    def cultures(self) -> tuple[int, ...]:
        return fallback_order(self.lcid, self.configuration.cultures)

    def typed(self, type: ElementType) -> str:
        return keyed(self.type(type), type.key)

    def line(self, named: Named) -> str:
        kinds = [named.kind.text, *([named.state.text] if named.state else [])]
        return f"{named.name.in_one_line} [{', '.join(kinds)}] id={named.element}"


def keyed(label: str, key: str) -> str:
    """Return a label with the key that requests need."""
    return label if label == key else f"{label} ({key})"


def section(title: str, lines: Iterable[str]) -> list[str]:
    """Return a heading and its lines; nothing without lines."""
    found = list(lines)
    return ["", f"## {title}", *found] if found else []


def page_note(first: int, shown: int, total: int, page: int) -> str:
    """Return how much of a list is shown, and how to get the rest."""
    if shown == total:
        return f"{total} found."
    if not shown:
        return f"{total} found; page {page} is empty."
    more = f' Call again with "page": {page + 1} for more.' if first + shown < total else ""
    return f"{first + 1} to {first + shown} of {total} found.{more}"


def piece(text: str, offset: int = 0) -> str:
    """Return the part of a text that fits into an answer, and how to get the next one."""
    end = offset + MOST_TEXT
    if len(text) <= end:
        return text[offset:] or f"The text has only {len(text)} characters. Use a smaller offset."
    return f'{text[offset:end]}\n\n[{end} of {len(text)} characters. Call again with "offset": {end} for more.]'


def fitting(lines: Iterable[str]) -> str:
    """Return a list as one text that fits into an answer. Lines that are too long lose their middle, not their id."""
    found = list(lines)
    if sum(map(len, found)) + len(found) <= MOST_TEXT:
        return "\n".join(found)
    half = MOST_TEXT // len(found) // 2 - 2
    return "\n".join(each if len(each) <= 2 * half else f"{each[:half]} … {each[-half:]}" for each in found)


def some(lines: Sequence[str], total: int, hint: str) -> list[str]:
    return [*lines, f"… and {total - len(lines)} more: {hint}."] if total > len(lines) else [*lines]
