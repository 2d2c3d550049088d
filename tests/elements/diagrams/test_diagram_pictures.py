"""Pictures in every layout: names, process maps, matrices, marks of changes, and texts that cannot break out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest

from elements.contrast import contrast
from elements.diagrams.colors import DARK, line_color, text_on, tint
from elements.diagrams.drawables import (
    ChangeMark,
    DrawableFlow,
    DrawableLane,
    DrawableShape,
    Drawing,
    FigureKind,
    LayoutKey,
    MapGroup,
    ShapeNotes,
)
from elements.diagrams.fixed_texts import GERMAN
from elements.diagrams.geometry import ShapeBounds
from elements.diagrams.svg import STYLE_SHEET, DiagramTexts, draw

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = DiagramTexts("en-US", "Handle order", "Shapes: 2.", "Nothing here.")
HOSTILE = "</title></svg><script>alert(1)</script><a href=\"javascript:alert(1)\" onload='x'>&amp;<![CDATA[]]><!--"
CORE, MANAGEMENT, SUPPORT = MapGroup.CORE, MapGroup.MANAGEMENT, MapGroup.SUPPORT


def shape(number: int, kind: FigureKind = FigureKind.TASK, **more: object) -> DrawableShape:
    name = str(more.pop("name", f"Shape {number}"))
    return DrawableShape(f"s{number}", number, kind, name, "Task", "#4A90C2", **more)  # type: ignore[arg-type]  # passed on


def full(name: str) -> Drawing:
    """Return a drawing that uses everything, with this name for all texts."""
    notes = ShapeNotes((name,), (name,), (name,), (name,))
    shapes = [
        shape(0, FigureKind.START, name=name, lane="a"),
        shape(1, name=name, lane="b", notes=notes, mark=ChangeMark.ADDED, link="/x"),
        shape(2, FigureKind.PROCESS, name=name),
        shape(3, name=name, container="s2", mark=ChangeMark.REMOVED),
        shape(4, FigureKind.INTERMEDIATE, name=name, host="s1", mark=ChangeMark.CHANGED),
    ]
    flows = [
        DrawableFlow("s0", "s1", name, mark=ChangeMark.ADDED),
        DrawableFlow("s1", "s2", mark=ChangeMark.CHANGED),
        DrawableFlow("s4", "s2", mark=ChangeMark.REMOVED),
        DrawableFlow("s2", "s0", name),
    ]
    lanes = [DrawableLane("p", name), DrawableLane("a", name, "p"), DrawableLane("b", name, "p")]
    return Drawing(shapes, flows, lanes)


def texts(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return [
        " ".join(span.text or "" for span in each.iter(f"{SVG}tspan")) or (each.text or "")
        for each in root.iter(f"{SVG}text")
    ]


@pytest.mark.parametrize("layout", LayoutKey)
def test_every_layout_shows_every_step(layout: LayoutKey) -> None:
    drawing = Drawing([shape(number, FigureKind.TASK) for number in range(5)], [DrawableFlow("s0", "s1", "if so")])
    shown = texts(draw(TEXTS, drawing, layout))
    assert {f"Shape {number}" for number in range(5)} <= set(shown)
    assert ("if so" in shown) is (layout is not LayoutKey.PROCESS_MATRIX)


@pytest.mark.parametrize("layout", LayoutKey)
def test_a_hostile_text_stays_text(layout: LayoutKey) -> None:
    root = ElementTree.fromstring(draw(TEXTS, full(HOSTILE), layout))
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "circle", "a", "text", "tspan"}
    names = {name for each in root.iter() for name in each.attrib}
    assert not any(name.startswith("on") or name == "style" for name in names)


@pytest.mark.parametrize("layout", LayoutKey)
def test_an_empty_diagram_is_a_notice_in_every_layout(layout: LayoutKey) -> None:
    assert texts(draw(TEXTS, Drawing(()), layout)) == ["Nothing here."]


@pytest.mark.parametrize("layout", LayoutKey)
def test_equal_diagrams_are_equal_bytes(layout: LayoutKey) -> None:
    one, other = full("Same"), full("Same")
    assert draw(TEXTS, one, layout) == draw(TEXTS, Drawing(other.shapes[::-1], other.flows[::-1], other.lanes), layout)


def house(groups: Sequence[MapGroup], flows: Sequence[DrawableFlow] = ()) -> Drawing:
    return Drawing(
        [shape(number, FigureKind.PROCESS, group=group) for number, group in enumerate(groups)], flows, (), True
    )


def places(picture: str) -> dict[str, tuple[int, int]]:
    root = ElementTree.fromstring(picture)
    found = {}
    for group in root.iter(f"{SVG}g"):
        if (group.get("id") or "").startswith("shape-"):
            x, y = re.findall(r"-?\d+", group.get("transform") or "")
            found[str(group.get("id")).removeprefix("shape-")] = (int(x), int(y))
    return found


@pytest.mark.parametrize("layout", [each for each in LayoutKey if each is not LayoutKey.PROCESS_MATRIX])
def test_a_process_map_has_management_above_and_support_below(layout: LayoutKey) -> None:
    picture = draw(TEXTS, house([CORE, MANAGEMENT, SUPPORT, CORE]), layout)
    assert texts(picture) == ["Management", "Shape 1", "Core", "Shape 0", "Shape 3", "Support", "Shape 2"]
    found = places(picture)
    assert found["s1"][1] < found["s0"][1] == found["s3"][1] < found["s2"][1]
    assert found["s0"][0] < found["s3"][0]
    assert 'class="arrows"' not in picture
    # Chevrons have six corners.
    assert len(re.findall(r'<path d="M-94 -42H94L120 0L94 42H-94L-68 0Z"', picture)) == 2


def test_flows_order_the_chevrons_of_a_map() -> None:
    drawing = house([CORE, CORE], [DrawableFlow("s1", "s0")])
    picture = draw(TEXTS, drawing, LayoutKey.DETAILED)
    assert texts(picture) == ["Shape 1", "Shape 0"]  # one group has no name
    assert 'class="arrows"' in draw(TEXTS, drawing, LayoutKey.VERTICAL)


def test_a_map_in_german() -> None:
    german = DiagramTexts("de-DE", "Haus", "", "", GERMAN)
    assert texts(draw(german, house([MANAGEMENT, SUPPORT]), LayoutKey.DETAILED))[::2] == ["Führung", "Unterstützung"]


def test_the_rows_of_a_map_do_not_overlap() -> None:
    found = places(draw(TEXTS, house([CORE] * 15 + [SUPPORT] * 9), LayoutKey.DETAILED))
    taken = sorted(found.values())
    assert len(set(taken)) == 24
    assert all(
        abs(one[0] - other[0]) >= 188 + 16 or abs(one[1] - other[1]) >= 84 + 16
        for number, one in enumerate(taken)
        for other in taken[number + 1 :]
        if one[1] == other[1] or one[0] == other[0]
    )


def test_the_matrix_crosses_steps_with_roles_and_systems() -> None:
    shapes = [
        shape(0, FigureKind.START, notes=ShapeNotes(("Nobody",))),
        shape(1, notes=ShapeNotes(("Clerk",), ("ERP",))),
        shape(2, notes=ShapeNotes(("Driver", "Clerk"))),
    ]
    picture = draw(TEXTS, Drawing(shapes, [DrawableFlow("s2", "s1")]), LayoutKey.PROCESS_MATRIX)
    # In the order of the flow, without events.
    assert texts(picture) == ["Step", "Roles", "Systems", "Driver", "Clerk", "ERP", "Shape 2", "Shape 1"]
    crosses = [
        each.findtext(f"{SVG}title") for each in ElementTree.fromstring(picture).iter() if each.get("class") == "cross"
    ]
    assert crosses == ["Shape 2: Driver", "Shape 2: Clerk", "Shape 1: Clerk", "Shape 1: ERP"]


def test_a_matrix_without_roles_and_systems_says_so() -> None:
    shown = texts(draw(TEXTS, Drawing([shape(0)]), LayoutKey.PROCESS_MATRIX))
    assert shown == ["Step", "Shape 0", "The steps have neither roles nor systems."]


def test_a_wide_matrix_is_bounded() -> None:
    shapes = [shape(number, notes=ShapeNotes((f"Role {number}",))) for number in range(400)]
    root = ElementTree.fromstring(draw(TEXTS, Drawing(shapes), LayoutKey.PROCESS_MATRIX))
    assert int(root.get("width", 0)) < 15_000


def test_changes_differ_by_more_than_their_colour() -> None:
    picture = re.sub("#[0-9A-F]{6}", "#", draw(TEXTS, full("Same"), LayoutKey.VERTICAL))
    for mark in ChangeMark:
        assert re.search(rf'class="shape \w+ {mark}"', picture)
    frames = re.findall(r'<rect class="change"[^>]*?stroke-width="3"([^>]*)/>', picture)
    assert sorted(frames) == ["", ' stroke-dasharray="12 3"', ' stroke-dasharray="5 4"']
    looks = dict(re.findall(r'<g class="flow (\w+)" stroke="#"([^>]*)>', picture))
    assert {name: looks[name] for name in ChangeMark} == {
        "added": ' stroke-width="4"',
        "removed": ' stroke-width="2" stroke-dasharray="3 5"',
        "changed": ' stroke-width="3" stroke-dasharray="12 3"',
    }


def test_the_new_version_is_drawn_over_removed_flows() -> None:
    picture = draw(TEXTS, full("Same"), LayoutKey.VERTICAL)
    assert list(dict.fromkeys(re.findall(r'<path class="(flow[^"]*)"', picture))) == [
        "flow removed",
        "flow back",
        "flow added",
        "flow changed",
    ]


@pytest.mark.parametrize("layout", [LayoutKey.HORIZONTAL_SWIMLANE, LayoutKey.VERTICAL_SWIMLANE])
def test_lanes_and_pools_are_named(layout: LayoutKey) -> None:
    lanes = [DrawableLane("p", "Company"), DrawableLane("a", "Sales", "p"), DrawableLane("b", "Stock", "p")]
    shown = texts(draw(TEXTS, Drawing([shape(0, lane="b")], (), lanes), layout))
    assert shown == ["Company", "Sales", "Stock", "Shape 0"]


def test_a_slanted_line_ends_with_a_slanted_head() -> None:
    shapes = [shape(0, bounds=ShapeBounds(0, 0, 40, 40)), shape(1, bounds=ShapeBounds(200, 200, 40, 40))]
    picture = draw(TEXTS, Drawing(shapes, [DrawableFlow("s0", "s1")]), LayoutKey.GRAPHIC)
    assert '<path d="M40 40L194 194"/>' in picture
    assert 'd="M200 200L196 190L190 196Z"' in picture


def in_the_dark(color: str, times: int = 1) -> str:
    """Return a colour as browsers show it with the filter of the style sheet: inverted, then turned by 180 degrees."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    for _ in range(times):
        red, green, blue = (1 - part for part in parts)
        turned = (
            -0.574 * red + 1.43 * green + 0.144 * blue,
            0.426 * red + 0.43 * green + 0.144 * blue,
            0.426 * red + 1.43 * green - 0.856 * blue,
        )
        parts = [min(1, max(0, part)) for part in turned]
    return "#{:02X}{:02X}{:02X}".format(*(round(255 * part) for part in parts))


@pytest.mark.parametrize(
    "color", ["#003B5C", "#005A8C", "#006BB3", "#007ACC", "#4A90C2", "#2E8B57", "#C98A1B", "#B23A48", "#6B7280"]
)
def test_a_dark_picture_can_be_read(color: str) -> None:
    """The colours of the standard types keep their contrast. Solid figures are filtered twice, so they stay as they
    are."""
    style = STYLE_SHEET.read_text(encoding="utf-8")
    assert (
        ".diagram, .diagram .process > :is(rect:not(.mark), path, text) { filter: invert(1) hue-rotate(180deg)" in style
    )
    ground = in_the_dark("#EAEAEA")
    assert contrast(in_the_dark(DARK), ground) >= 10
    assert contrast(in_the_dark(text_on(tint(color))), in_the_dark(tint(color))) >= 7
    assert contrast(in_the_dark(line_color(color)), ground) >= 3
    assert contrast(in_the_dark(text_on(color), 2), in_the_dark(color, 2)) >= 4
