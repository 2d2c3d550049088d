"""Two versions of a diagram in one picture: added, removed and changed shapes and flows are marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elements.comparing.differences import Drawn, FlowDifference, Mark, ShapeDifference
from elements.diagrams.drawables import ChangeMark, DrawableFlow, DrawableShape, Drawing, LayoutKey
from elements.diagrams.fixed_texts import words_in
from elements.diagrams.svg import DiagramTexts, draw
from elements.presentation.labels import Named
from elements.reading.diagrams.pictures import MAX_ARROWS, MAX_SHAPES, kind_of
from storage.localisation.cultures import language_of

MARKS = {Mark.ADDED: ChangeMark.ADDED, Mark.REMOVED: ChangeMark.REMOVED, Mark.CHANGED: ChangeMark.CHANGED}


def compared_drawing(
    shapes: Sequence[ShapeDifference], flows: Sequence[FlowDifference], named: Mapping[str, Named], is_map: bool
) -> Drawing:
    """Return the new diagram together with what was removed from the old one."""
    drawn = [_shape(rank, each, shape, named) for rank, each in enumerate(shapes) if (shape := each.new or each.old)]
    return Drawing(drawn, [_flow(each) for each in flows], (), is_map)


def _shape(rank: int, difference: ShapeDifference, drawn: Drawn, named: Mapping[str, Named]) -> DrawableShape:
    # Arrows show that the preceding shapes have changed.
    is_changed = difference.mark is not Mark.CHANGED or difference.is_renamed or difference.is_moved
    target, (container, host) = named[drawn.element], drawn.around
    return DrawableShape(
        drawn.key,
        rank,
        kind_of(target.type),
        target.name.in_one_line,
        target.type_name,
        target.kind.color,
        target.address,
        container=container,
        host=host,
        mark=MARKS.get(difference.mark) if is_changed else None,
    )


def _flow(flow: FlowDifference) -> DrawableFlow:
    label = flow.old if flow.mark is Mark.REMOVED else flow.new
    return DrawableFlow(*flow.ends, label, mark=MARKS.get(flow.mark))


def draw_comparison(drawing: Drawing, title: str, culture: int, language: str) -> SafeString:
    words = words_in(language_of(culture))
    size = words.size.format(shapes=len(drawing.shapes), arrows=len(drawing.flows))
    is_too_large = len(drawing.shapes) > MAX_SHAPES or len(drawing.flows) > MAX_ARROWS
    texts = DiagramTexts(language, title, _("Differences of the diagram"), f"{words.too_large} {size}", words)
    shown = Drawing(()) if is_too_large else drawing
    return mark_safe(draw(texts, shown, LayoutKey.VERTICAL, with_style=False))  # noqa: S308  drawn by us, all escaped
