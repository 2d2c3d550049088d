"""Diagrams as SVG: whole small pictures, texts, colours, and names that cannot break out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elements.contrast import contrast
from elements.diagrams.colors import line_color, text_on, tint
from elements.diagrams.drawables import DrawableFlow, DrawableShape, Drawing, FigureKind, LayoutKey
from elements.diagrams.layered.layout import Direction
from elements.diagrams.svg import STYLE_SHEET, DiagramTexts, draw
from elements.diagrams.text import clean, width_of, wrap

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = DiagramTexts("en-US", "Handle order", "Shapes: 2.", "Nothing here.")
HOSTILE = "</title></svg><script>alert(1)</script><a href=\"javascript:alert(1)\" onload='x'>&amp;<![CDATA[]]><!--"


def shape(
    rank: int, kind: FigureKind = FigureKind.TASK, name: str = "", type_name: str = "Task", link: str = ""
) -> DrawableShape:
    return DrawableShape(f"s{rank}", rank, kind, name or f"Shape {rank}", type_name, "#4A90C2", link)


def drawing(shapes: Iterable[DrawableShape], pairs: Iterable[tuple[str, str]] = ()) -> Drawing:
    return Drawing(list(shapes), [DrawableFlow(*pair) for pair in pairs])


def picture(shapes: Iterable[DrawableShape], pairs: Iterable[tuple[str, str]] = (), **more: object) -> str:
    layout = LayoutKey(str(more.pop("direction", Direction.VERTICAL)))
    return draw(TEXTS, drawing(shapes, pairs), layout, **more)  # type: ignore[arg-type]  # passed on


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def test_a_whole_picture() -> None:
    shapes = [shape(0, FigureKind.START, "Go", type_name="Start"), shape(1, link="/a?b=1&c=2")]
    assert picture(shapes, [("s0", "s1"), ("s1", "s0")], selected="s1", with_style=False).splitlines() == [
        '<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="group" lang="en-US" xml:lang="en-US" width="256" height="180"'
        ' viewBox="0 0 256 180" font-family="Arial, \'Liberation Sans\', Helvetica, sans-serif" font-size="13">',
        "<title>Handle order</title>",
        "<desc>Shapes: 2.</desc>",
        '<rect class="ground" width="256" height="180" fill="#FFFFFF"/>',
        '<g transform="translate(24 24)">',
        '<g class="arrows" fill="none" stroke-width="1.5" aria-hidden="true">',
        '<g class="flow" stroke="#52606D">',
        '<path d="M122 36L122 72"/>',
        "</g>",
        '<path class="flow" d="M122 80L118 70L126 70Z" fill="#52606D"/>',
        '<g class="flow back" stroke="#B4470E" stroke-dasharray="6 4">',
        '<path d="M36 106L8 106Q0 106 0 98L0 26Q0 18 8 18L96 18"/>',
        "</g>",
        '<path class="flow back" d="M104 18L94 14L94 22Z" fill="#B4470E"/>',
        "</g>",
        '<g class="shape start" id="shape-s0" transform="translate(122 18)"><title>Start: Go</title>'
        '<rect class="mark" x="-24" y="-24" width="74" height="48" rx="8" fill-opacity="0"/>'
        '<circle r="17" fill="#E9F1F7" stroke="#4A90C2" stroke-width="2"/>'
        '<text text-anchor="start" fill="#1F2933"><tspan x="26" y="4">Go</tspan></text></g>',
        '<a href="/a?b=1&amp;c=2" aria-label="Task: Shape 1" aria-current="true">'
        '<g class="shape task selected" id="shape-s1" transform="translate(122 106)"><title>Task: Shape 1</title>'
        '<rect class="mark" x="-92" y="-32" width="184" height="64" rx="8" fill="#DBEAFE" fill-opacity="0.5" stroke="#1D4ED8" stroke-width="3"/>'
        '<rect x="-85" y="-25" width="170" height="50" rx="10" fill="#E9F1F7" stroke="#4A90C2" stroke-width="2"/>'
        '<text text-anchor="middle" fill="#1F2933"><tspan x="0" y="4">Shape 1</tspan></text></g></a>',
        "</g>",
        "</svg>",
    ]


def test_nothing_to_draw() -> None:
    assert picture([], with_style=False).splitlines() == [
        '<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="img" lang="en-US" xml:lang="en-US" width="175" height="64"'
        ' viewBox="0 0 175 64" font-family="Arial, \'Liberation Sans\', Helvetica, sans-serif" font-size="13">',
        "<title>Handle order</title>",
        "<desc>Shapes: 2.</desc>",
        '<rect class="ground" width="175" height="64" fill="#FFFFFF"/>',
        '<text text-anchor="middle" fill="#1F2933"><tspan x="87" y="37">Nothing here.</tspan></text>',
        "</svg>",
    ]


def test_a_standalone_picture_has_its_style_and_is_an_image_without_links() -> None:
    alone = parsed(picture([shape(0)]))
    assert alone.get("role") == "img"
    assert alone.findtext(f"{SVG}style") == STYLE_SHEET.read_text(encoding="utf-8").strip()
    assert parsed(picture([shape(0, link="/x")])).get("role") == "group"


@pytest.mark.parametrize("kind", FigureKind)
@pytest.mark.parametrize("direction", Direction)
def test_each_kind_of_shape(kind: FigureKind, direction: Direction) -> None:
    root = parsed(picture([shape(0, kind, "A name")], direction=direction))
    group = root.find(f".//{SVG}g[@id='shape-s0']")
    assert group is not None
    tags = [each.tag.removeprefix(SVG) for each in group]
    assert tags[:2] == ["title", "rect"]  # the mark
    assert tags[-1] == "text"
    looks = tags[2:-1]
    if kind in (FigureKind.START, FigureKind.END, FigureKind.INTERMEDIATE):
        assert looks == ["circle"] * (2 if kind is FigureKind.INTERMEDIATE else 1)
    elif kind in (FigureKind.AND, FigureKind.OR, FigureKind.XOR, FigureKind.CONDITION):
        assert looks[0] == "path"
    else:
        assert looks[0] == "rect"
    assert group.get("class") == f"shape {kind}"


def test_no_two_kinds_look_alike() -> None:
    drawn = {re.sub(r'class="shape \w+"', "", picture([shape(0, kind, "A")], with_style=False)) for kind in FigureKind}
    assert len(drawn) == len(FigureKind)


@pytest.mark.parametrize("direction", Direction)
def test_a_hostile_name_stays_text(direction: Direction) -> None:
    shapes = [shape(rank, kind, HOSTILE, link=f'/"><script>{HOSTILE}') for rank, kind in enumerate(FigureKind)]
    text = draw(DiagramTexts('"><script>', HOSTILE, HOSTILE), drawing(shapes, [("s0", "s1")]), LayoutKey(direction))
    root = parsed(text)
    assert root.findtext(f"{SVG}title") == HOSTILE
    assert root.findtext(f".//{SVG}g/{SVG}title") == f"Task: {HOSTILE}"
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "g", "path", "circle", "a", "text", "tspan"}
    names = {name for each in root.iter() for name in each.attrib}
    assert not any(name.startswith("on") or name == "style" for name in names)
    assert parsed(picture([], with_style=False)) is not None


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=60), st.sampled_from(FigureKind))
@example("\x00\x01\x08\x0b\x1f\ufffe\uffff\ud800", FigureKind.TASK)
@example("a\u202eb\u0301\u200d\U0001f468\u200d\U0001f469", FigureKind.START)
def test_any_name_gives_xml(name: str, kind: FigureKind) -> None:
    drawn = DrawableShape("s", 0, kind, name, "Task", "#4A90C2", "/x")
    text = draw(DiagramTexts("de", name, name), drawing([drawn]), LayoutKey.HORIZONTAL)
    parsed(text.encode().decode())


@pytest.mark.long
def test_the_same_diagram_is_the_same_text() -> None:
    kinds = list(FigureKind)
    shapes = [shape(rank, kinds[rank % len(kinds)]) for rank in range(30)]
    random = Random(3)
    pairs = [(f"s{random.randrange(30)}", f"s{random.randrange(30)}") for _ in range(45)]
    for direction in Direction:
        first = picture(shapes, pairs, direction=direction)
        for _ in range(2):
            random.shuffle(shapes)
            random.shuffle(pairs)
            assert picture(shapes, pairs, direction=direction) == first
        # Integers only: another machine might round floats differently.
        drawn = first.partition("</style>")[2].replace('"1.5"', "").replace('"0.7"', "")
        assert not re.search(r"\d\.\d", drawn)


@pytest.mark.long
@settings(deadline=None)
@given(st.integers(0, 0xFFFFFF).map("#{:06X}".format))
@example("#767676")
@example("#FFFF00")
def test_every_colour_is_readable_and_visible(color: str) -> None:
    for ground in (tint(color), color):
        assert contrast(text_on(ground), ground) >= 4.5
    assert contrast(line_color(color), "#FFFFFF") >= 3


def test_an_invalid_colour() -> None:
    root = parsed(picture([DrawableShape("s", 0, FigureKind.PROCESS, "A", "B", 'red" onload="x')]))
    assert all("onload" not in each.attrib for each in root.iter())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("Short", ["Short"]),
        ("Auftrag\nabwickeln", ["Auftrag", "abwickeln"]),
        ("Auftrag\r\nabwickeln\n\n", ["Auftrag", "abwickeln"]),
        ("  a   b  ", ["a b"]),
        ("Handle every order of a customer", ["Handle every", "order of a", "customer"]),
        ("Kfz-Haftpflichtversicherung", ["Kfz-", "Haftpflicht-", "versicherung"]),
        ("Ein- und Auslagerung", ["Ein- und", "Auslagerung"]),
        ("Donau\u00addampf\u00adschiff", ["Donau-", "dampfschiff"]),
        ("Lager\u00adort", ["Lagerort"]),
        ("Qualitätsmanagementbeauftragter", ["Qualitätsma-", "nagement-", "beauftragter"]),
        ("one two three four five six seven eight nine ten", ["one two three", "four five six", "seven eight…"]),
        ("一二三四五六七八九", ["一二三四五", "六七八九"]),
        ("12345678901234", ["1234567", "8901234"]),
    ],
)
def test_texts_in_lines(text: str, lines: list[str]) -> None:
    assert wrap(text, 86, 3) == lines


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120), st.integers(30, 150), st.integers(1, 5))
@example("@¨00", 30, 1)
def test_lines_fit(text: str, width: int, most: int) -> None:
    lines = wrap(text, width, most)
    assert len(lines) <= most
    assert all(width_of(line) <= width for line in lines if len(line) > 2)
    assert not any(clean(line) != line or "\n" in line for line in lines)


def test_a_very_long_name_is_cut_quickly_and_longer_in_the_title() -> None:
    name = "word " * 200_000
    root = parsed(picture([shape(0, name=name)]))
    assert root.findtext(f".//{SVG}g/{SVG}title") == f"Task: {name[:500]}…"
    lines = [each.text or "" for each in root.iter(f"{SVG}tspan")]
    assert len(lines) == 5
    assert lines[-1].endswith("…")


@pytest.mark.parametrize(
    ("text", "has_hyphen"),
    [
        ("Lagerbestandsverwaltung", True),
        ("Προγραμματισμός", True),
        ("ตรวจสอบคำสั่งซื้อและสำรองสินค้า", False),
        ("主数据管理系统中的供应商", False),
        ("재고관리시스템의공급업체", False),
    ],
)
def test_only_scripts_with_capital_letters_have_hyphens(text: str, has_hyphen: bool) -> None:
    lines = wrap(text, 60, 9)
    assert len(lines) > 1
    assert lines[0].endswith("-") is has_hyphen


def test_labels_have_the_ground_of_a_dark_picture() -> None:
    """Otherwise each label is a black box on dark grey."""
    dark = STYLE_SHEET.read_text().split("@media print")[0]
    assert ".diagram :is(.ground, .label rect) { fill: #EAEAEA; }" in dark
    labelled = Drawing([shape(0), shape(1)], [DrawableFlow("s0", "s1", "yes")])
    assert '<g class="label"' in draw(TEXTS, labelled, LayoutKey.VERTICAL)


def test_parts_of_one_character_stay_together() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert wrap(family * 4, 40, 9)[0] == family
    assert all(not line.startswith("\u0301") for line in wrap("e\u0301" * 40, 50, 9))
