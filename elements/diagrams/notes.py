"""Notes beside a shape in the detailed layout: inputs before it, roles, systems and outputs after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from elements.diagrams.drawables import ShapeNotes
from elements.diagrams.fixed_texts import PictureWords
from elements.diagrams.text import FONT_SIZE, clean, wrap

WIDTH, GAP, ROOM = 140, 5, 18
SMALL, SMALL_LINE, TEXT_START, PADDING = 11, 14, 22, 5
# Notes of one kind; a note beyond says how many are left out.
MOST, MOST_LINES = 6, 2
LINE, GROUND, TEXT = "#9AA5B1", "#F5F7FA", "#323F4B"

# Symbols of 12 by 12.
_SYMBOLS = {
    "role": '<circle cx="6" cy="3.5" r="2.5"/><path d="M1 12C1 8 3.5 7 6 7S11 8 11 12Z"/>',
    "system": '<path d="M1 2H11V9H1ZM4 11.5H8"/>',
    "input": '<path d="M1 6H8M5.5 3L8.5 6L5.5 9M11 1V11"/>',
    "output": '<path d="M1 1V11M3 6H11M8 3L11 6L8 9"/>',
}


@dataclass(frozen=True, slots=True)
class SideNote:
    kind: str
    lines: Sequence[str]
    title: str

    @property
    def height(self) -> int:
        return len(self.lines) * SMALL_LINE + 2 * PADDING


def notes_before(notes: ShapeNotes, words: PictureWords) -> list[SideNote]:
    return list(_notes("input", words.inputs, notes.inputs))


def notes_after(notes: ShapeNotes, words: PictureWords) -> list[SideNote]:
    return [
        *_notes("role", words.roles, notes.roles),
        *_notes("system", words.systems, notes.systems),
        *_notes("output", words.outputs, notes.outputs),
    ]


def _notes(kind: str, word: str, names: Sequence[str]) -> Iterator[SideNote]:
    width = (WIDTH - TEXT_START - PADDING) * FONT_SIZE // SMALL
    for name in names[:MOST]:
        lines = wrap(" ".join(name.split()), width, MOST_LINES) or ["–"]
        yield SideNote(kind, lines, clean(f"{word}: {name[:200]}"))
    if len(names) > MOST:
        left_out = f"+{len(names) - MOST}"
        yield SideNote(kind, [left_out], f"{word}: {left_out}")


def height_of(notes: Sequence[SideNote]) -> int:
    return sum(note.height for note in notes) + GAP * (len(notes) - 1) if notes else 0


def draw_notes(notes: Sequence[SideNote], left: int, joint: int | None) -> str:
    """Return a column of notes around y = 0. `joint` is the x of the figure that a line joins to the column."""
    if not notes:
        return ""
    drawn = []
    y = -height_of(notes) // 2
    if joint is not None:
        edge = left + WIDTH if joint > left else left
        drawn.append(f'<path class="joint" d="M{joint} 0H{edge}" stroke="{LINE}" stroke-dasharray="2 3"/>')
    for note in notes:
        spans = "".join(
            f'<tspan x="{left + TEXT_START}" y="{y + PADDING + SMALL + number * SMALL_LINE - 1}">{escape(line)}</tspan>'
            for number, line in enumerate(note.lines)
        )
        place = f"translate({left + PADDING} {y + note.height // 2 - 6})"
        symbol = f'<g transform="{place}" fill="none" stroke="{TEXT}">{_SYMBOLS[note.kind]}</g>'
        drawn.append(
            f'<g class="note {note.kind}"><title>{escape(note.title)}</title>'
            f'<rect x="{left}" y="{y}" width="{WIDTH}" height="{note.height}" rx="3" fill="{GROUND}" stroke="{LINE}"/>'
            f'{symbol}<text font-size="{SMALL}" fill="{TEXT}">{spans}</text></g>'
        )
        y += note.height + GAP
    return "".join(drawn)
