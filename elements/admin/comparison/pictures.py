"""Two versions of a diagram in one picture: added, removed and changed shapes and flows are marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.admin.comparison.differences import Mark, ShapeDifference
from elements.diagrams.drawables import ChangeMark, DrawableFlow, DrawableShape, Drawing, LayoutKey
from elements.diagrams.fixed_texts import words_in
from elements.diagrams.svg import DiagramTexts, draw
from elements.presentation.labels import Named
from elements.reading.diagrams.pictures import MAX_ARROWS, MAX_SHAPES, kind_of
from storage.localisation.cultures import language_of

Flows = Mapping[tuple[str, str], str]
"""Labels by the keys of two shapes."""


@dataclass(frozen=True, slots=True)
class ComparedShape:
    """A shape with the places of its neighbours, by keys that are the same in both versions."""

    key: str
    named: Named
    container: str = ""
    host: str = ""


def compared_drawing(
    differences: Sequence[ShapeDifference],
    old: Mapping[str, ComparedShape],
    new: Mapping[str, ComparedShape],
    flows: tuple[Flows, Flows],
    is_map: bool,
) -> Drawing:
    """Return the new diagram together with what was removed from the old one."""
    shapes = []
    for rank, each in enumerate(differences):
        drawn = each.new or each.old
        if drawn is not None:
            shape = new.get(drawn.key) or old[drawn.key]
            shapes.append(_shape(shape, rank, each))
    before, after = flows
    return Drawing(shapes, [_flow(pair, before, after) for pair in dict.fromkeys((*after, *before))], (), is_map)


def _shape(shape: ComparedShape, rank: int, difference: ShapeDifference) -> DrawableShape:
    marks = {Mark.ADDED: ChangeMark.ADDED, Mark.REMOVED: ChangeMark.REMOVED}
    is_changed = difference.is_renamed or difference.is_moved
    named = shape.named
    return DrawableShape(
        shape.key,
        rank,
        kind_of(named.type),
        named.name.in_one_line,
        named.type_name,
        named.kind.color,
        named.address,
        container=shape.container,
        host=shape.host,
        mark=marks.get(difference.mark, ChangeMark.CHANGED if is_changed else None),
    )


def _flow(pair: tuple[str, str], before: Flows, after: Flows) -> DrawableFlow:
    if pair not in before:
        return DrawableFlow(*pair, after[pair], mark=ChangeMark.ADDED)
    if pair not in after:
        return DrawableFlow(*pair, before[pair], mark=ChangeMark.REMOVED)
    mark = None if before[pair] == after[pair] else ChangeMark.CHANGED
    return DrawableFlow(*pair, after[pair], mark=mark)


def draw_comparison(drawing: Drawing, title: str, culture: int, language: str) -> SafeString:
    words = words_in(language_of(culture))
    size = words.size.format(shapes=len(drawing.shapes), arrows=len(drawing.flows))
    is_too_large = len(drawing.shapes) > MAX_SHAPES or len(drawing.flows) > MAX_ARROWS
    texts = DiagramTexts(language, title, _("Differences of the diagram"), f"{words.too_large} {size}", words)
    shown = Drawing(()) if is_too_large else drawing
    return mark_safe(draw(texts, shown, LayoutKey.VERTICAL, with_style=False))  # noqa: S308  drawn by us, all escaped
