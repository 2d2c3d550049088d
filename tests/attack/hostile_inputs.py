"""The places where the input of a caller decides about work, each with inputs that would make it expensive."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import QueryDict

from elements.admin.editing.rich_text import typed_markup
from elements.api.query import SELECT, Names, QueryParameters
from elements.comparing.differences import Item, compare_lists, compare_texts
from elements.diagrams.drawables import DrawableFlow, DrawableShape, Drawing, FigureKind, LayoutKey, ShapeNotes
from elements.diagrams.matrix import MAX_COLUMNS
from elements.diagrams.svg import DiagramTexts, draw
from elements.filters.parsing import parse_filter
from elements.search.excerpts import LONGEST, best_excerpt
from elements.search.queries import MAX_LENGTH, MAX_WORDS, read_text
from elements.search.spelling import distance
from elements.transfer.file_checks import Survey
from elements.transfer.lines import LineReader, TransferLine
from elements.values.checking import value_problem
from elements.values.html import DECLARATION, html_problem
from elements.values.markup import shown_markup
from elements.values.rich_text import write_markup
from elements.values.rich_text_exchange import editor_document, read_document
from elements.values.rich_text_reading import NotShown, read_markup
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader
from elements.writing.stored import Ancestry
from facets.admin.drafting.preview_panel import ApiAnswer, compared_answers
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, SelectableValue
from facets.blueprint.differences import find_differences
from facets.configuration import Configuration, compile_configuration
from facets.template_format.reading import read_template
from repository_site.core.matching import Effort
from repository_site.core.problems import Problem
from repository_site.core.rest.negotiation import weights
from repository_site.core.rest.rendering import to_json
from repository_site.core.rest.strict_json import parse_json
from repository_site.core.wording import similar_names
from storage.api.conditional_requests import given_tags
from storage.events.cursors import Cursor
from storage.localisation.cultures import CultureSet
from storage.models import AccessRule
from storage.provisioning.templates import load_template
from storage.single_sign_on.rules import applies
from tests.attack.growth import Place
from tests.attack.hostile_models import models

BODY, HEADERS = "size of the body", "size of the headers"
NESTING = "`REPOSITORY_MARKUP_NESTING`, 100 levels"
RICH_TEXT = "200,000 characters, 8 lists, 40 open elements"
EFFORT = "`REPOSITORY_COMPARISON_EFFORT`, 2,000,000 steps for a page"
JSON = "size of the body, 64 levels, 1,000 digits"
FILTER = "4,000 characters, 100 conditions, 32 levels"
DIAGRAM = "2,000 shapes and 6,000 arrows"
PROPERTIES = Names(frozenset(f"property{number}" for number in range(50)), frozenset())


def places() -> Iterator[Place]:
    yield from _markup()
    yield from _rich_text()
    yield from _comparisons()
    yield from _diagrams()
    yield from models()
    yield from _requests()
    yield from _searches()
    yield from _content()


def _markup() -> Iterator[Place]:
    def check(text: str) -> object:
        return html_problem(DECLARATION + text)

    def show(text: str) -> object:
        return shown_markup(text, "Table")

    def attributes(n: int) -> str:
        return "<p " + " ".join(f"a{number}='x'" for number in range(n)) + "/>"

    def enclosed(n: int) -> str:
        return f"<p><b title='{'x' * 20 * n}'>{'<div>y</div>' * n}</b></p>"

    crossed = "<table><tr><b><td><li><img/></li></td></b></tr></table>"
    yield Place("check of markup: many style sheets", BODY, 500, lambda n: "<style>a{}</style>" * n, check)
    yield Place(
        "check of markup: comments of a style sheet", BODY, 500, lambda n: f"<style>{'/* */ /* ' * n}</style>", check
    )
    yield Place("check of markup: nested elements", NESTING, 1_000, lambda n: "<div>" * n + "</div>" * n, check)
    yield Place("check of markup: many attributes", BODY, 500, attributes, check)
    yield Place("check of markup: blanks in an address", BODY, 2_000, lambda n: f"<a href='{'&#9; ' * n}x'/>", check)
    yield Place(
        "check of markup: elements that are not closed", BODY, 2_000, lambda n: "<p>" * 50 + "&lt;b/&gt;" * n, check
    )
    yield Place("markup on pages: nested elements", NESTING, 500, lambda n: "<div>" * n + "</div>" * n, show)
    yield Place("markup on pages: empty elements", NESTING, 500, lambda n: "<div/><b/>" * n, show)
    yield Place("markup on pages: a long title around many blocks", NESTING, 200, enclosed, show)
    yield Place("markup on pages: tables and lists that cross", NESTING, 100, lambda n: crossed * n, show)
    yield Place("markup on pages: headings", NESTING, 500, lambda n: "<h1>a</h1><h6>b</h6>" * n, show)


def _rich_text() -> Iterator[Place]:
    def edit(text: str) -> object:
        try:
            return write_markup(read_document(editor_document(read_markup(text))))
        except NotShown as reason:
            return reason

    def items(n: int) -> str:
        return "<ul><li>a" * 8 + "</li><li>" * n + "</li></ul>" * 8

    def tables(n: int) -> str:
        return f"<table>{'<tr><td>a</td></tr>' * n}</table>" * 3

    yield Place("formatted text: items of nested lists", RICH_TEXT, 1_000, items, edit)
    yield Place("formatted text: blanks and line breaks", RICH_TEXT, 1_000, lambda n: f"<p>{'a  <br/> ' * n}</p>", edit)
    yield Place("formatted text: nested marks", RICH_TEXT, 500, lambda n: "<b>a" * n + "</b>" * n, edit)
    yield Place("formatted text: tables", RICH_TEXT, 200, tables, edit)
    yield Place("formatted text: ampersands in the source", BODY, 5_000, lambda n: "&a" * n, _typed_source)


def _typed_source(text: str) -> object:
    return typed_markup(text, "", "")


def _comparisons() -> Iterator[Place]:
    def texts(pair: tuple[str, str]) -> object:
        return compare_texts(*pair, Effort(settings.COMPARISON_EFFORT))

    def lists(n: int) -> tuple[list[Item], list[Item]]:
        return [Item("ab"[each % 2], "") for each in range(n)], [Item("abb"[each % 3], "") for each in range(n)]

    def answers(n: int) -> tuple[list[ApiAnswer], list[ApiAnswer]]:
        return [ApiAnswer("/", [0, 1] * n)], [ApiAnswer("/", [1, 0, 0] * n)]

    yield Place("comparison of versions: few different words", EFFORT, 25, lambda n: ("a b " * n, "b a " * n), texts)
    yield Place("comparison of versions: random words", EFFORT, 500, lambda n: (_words(n, 1), _words(n, 2)), texts)
    yield Place("comparison of versions: words that divide badly", EFFORT, 500, _chains, texts)
    yield Place(
        "comparison of versions: references to few elements",
        "references of an element",
        30,
        lists,
        lambda pair: compare_lists(*pair),
    )
    yield Place(
        "comparison of configurations: equal lines",
        "1,000,000 steps for a page",
        200,
        answers,
        lambda pair: compared_answers(*pair),
    )


def _words(count: int, seed: int) -> str:
    chosen = random.Random(seed)
    return " ".join(str(chosen.randrange(count)) for _ in range(count))


def _chains(count: int) -> tuple[str, str]:
    """Dividing at the only word that occurs once leaves a part that is just shorter by two words."""
    words = [word for number in range(count, 0, -1) for word in (f"w{number - 1}", f"w{number}")]
    return " ".join(words), f"x {' , '.join(words)} y"


def _diagrams() -> Iterator[Place]:
    def picture(n: int, arrows: list[tuple[int, int]], name: str = "Check the order") -> Drawing:
        shapes = [DrawableShape(str(rank), rank, FigureKind.TASK, name, "Task", "#007ACC", "/") for rank in range(n)]
        return Drawing(shapes, [DrawableFlow(str(one), str(two)) for one, two in arrows])

    def at_random(n: int) -> Drawing:
        chosen = random.Random(1)
        return picture(n, [(chosen.randrange(n), chosen.randrange(n)) for _ in range(3 * n)])

    def star(n: int) -> Drawing:
        return picture(n, [arrow for rank in range(1, n) for arrow in ((0, rank), (rank, 0))])

    def full(n: int) -> Drawing:
        """Everything at once: notes, labels, containers in containers, and an event at each edge."""
        notes = ShapeNotes(*(tuple(f"{kind} {number}" for number in range(9)) for kind in ("r", "s", "i", "o")))
        plain = at_random(n)
        shapes = [
            replace(
                each,
                kind=FigureKind.INTERMEDIATE if each.rank % 3 == 2 else each.kind,
                notes=notes,
                container=str(each.rank // 2) if each.rank % 3 == 0 else "",
                host=str(each.rank - 1) if each.rank % 3 == 2 else "",
            )
            for each in plain.shapes
        ]
        return Drawing(shapes, [replace(each, label="if it is complete") for each in plain.flows])

    def lanes(n: int) -> Drawing:
        plain = at_random(n)
        return Drawing([replace(each, notes=ShapeNotes((f"Role {each.rank}",))) for each in plain.shapes], plain.flows)

    def paint(given: Drawing, layout: LayoutKey = LayoutKey.VERTICAL) -> object:
        return draw(DiagramTexts("en", "", ""), given, layout)

    def painted(layout: LayoutKey) -> Callable[[Drawing], object]:
        return lambda given: paint(given, layout)

    yield Place("layout of a diagram: random arrows", DIAGRAM, 60, at_random, paint)
    yield Place("layout of a diagram: arrows from and to one shape", DIAGRAM, 60, star, paint)
    yield Place("detailed picture: labels, notes and containers", DIAGRAM, 60, full, painted(LayoutKey.DETAILED))
    yield Place("swimlanes: a lane for each shape", DIAGRAM, 60, lanes, painted(LayoutKey.HORIZONTAL_SWIMLANE))
    yield Place(
        "process matrix: a role for each step",
        f"{DIAGRAM}, {MAX_COLUMNS} columns",
        60,
        lanes,
        painted(LayoutKey.PROCESS_MATRIX),
    )
    yield Place(
        "picture of a diagram: long names",
        "400 characters, 500 in the title",
        100,
        lambda n: picture(3, [], "a\u0301\u00ad" * n),
        paint,
    )


def _requests() -> Iterator[Place]:
    def select(n: int) -> QueryDict:
        given = QueryDict(mutable=True)
        given[SELECT] = ",".join(f"proprety{number}" for number in range(n))
        return given

    def fields(n: int) -> object:
        return {"elements": [{f"atributes{number}": 1 for number in range(n)}]}

    parse = _refused(parse_json)
    yield Place("JSON: deep lists", JSON, 100, lambda n: b"[" + b",".join([b"[" * 60 + b"]" * 60] * n) + b"]", parse)
    yield Place("JSON: backslashes", JSON, 2_000, lambda n: b'["' + b"\\\\" * n + b'\\u0000"]', parse)
    yield Place("JSON: digits", JSON, 500, lambda n: b"[1." + b"1" * n + b"]", parse)
    yield Place(
        "JSON: keys of an object", JSON, 500, lambda n: b"{%s}" % b",".join(b'"%d" : 1' % i for i in range(n)), parse
    )
    read = _refused(parse_filter)
    yield Place("filter: conditions", FILTER, 300, lambda n: " OR ".join(["a -eq 1"] * (n // 11)), read)
    yield Place("filter: brackets", FILTER, 300, lambda n: "(" * n, read)
    yield Place("filter: a text that is not closed", FILTER, 300, lambda n: "a -eq '" + "''" * (n // 2), read)
    yield Place("filter: a long name", FILTER, 300, lambda n: "a-" * (n // 2) + " (", read)
    yield Place("filter: values of a list", FILTER, 300, lambda n: f"a -in ({','.join(['1'] * (n // 2))})", read)
    yield Place(
        "names in `$select`",
        f"{HEADERS}, 20 hints",
        500,
        select,
        lambda given: QueryParameters(given, (SELECT,)).select(PROPERTIES),
    )
    yield Place(
        "unknown fields of a body",
        f"{BODY}, 100 hints",
        500,
        fields,
        lambda given: InputReader(Findings()).elements(given),
    )
    yield Place(
        "similar names: a long name",
        "100 characters",
        500,
        lambda n: "x" * n,
        lambda name: similar_names(name, PROPERTIES.properties),
    )
    yield Place(
        "entity tags of a request",
        HEADERS,
        500,
        lambda n: '"a" , ' * n + '"',
        _refused(lambda text: given_tags(text, "If-Match")),
    )
    yield Place("media types of a request", HEADERS, 500, lambda n: "a/b;q=1 ; x , " * n, weights)
    sso = "200 rules, 500 values, 1,000 characters"
    rule = AccessRule(claim="groups", comparison="pattern", value="*a" * 99 + "*b")
    yield Place("rules of a provider: groups", sso, 50, lambda n: {"groups": ["a" * 100] * n}, partial(applies, rule))
    yield Place("rules of a provider: a long group", sso, 100, lambda n: {"groups": ["a" * n]}, partial(applies, rule))


def _searches() -> Iterator[Place]:
    """Texts that are searched, and texts of elements, which may have a megabyte."""

    def excerpt(text: str) -> object:
        return best_excerpt({"scope": {"1033": text}}, ["scope"], "order".startswith, "1033")

    yield Place(
        "search text: quotes",
        f"{MAX_LENGTH} characters, {MAX_WORDS} words",
        20,
        lambda n: '-"a' * n,
        _refused(read_text),
    )
    bound = f"{LONGEST:,} characters of a text, a quarter of `REPOSITORY_RESPONSE_BYTES` for a page"
    yield Place("excerpt: words", bound, 500, lambda n: "order parts " * n, excerpt)
    yield Place("excerpt: a script without spaces", bound, 500, lambda n: "製造" * n, excerpt)
    yield Place("excerpt: signs that begin no tag", bound, 2_000, lambda n: DECLARATION + "<" * n, excerpt)
    yield Place(
        "similar words: long words",
        "40 characters of a word, 5,000 words",
        100,
        lambda n: ("a" * n, "a" * (n - 1) + "b"),
        lambda pair: distance(pair[0], pair[1], 2),
    )
    yield Place("cursor of the change feed", HEADERS, 500, lambda n: "A" * n, Cursor.read)


def _refused(work: Callable[[Any], object]) -> Callable[[Any], object]:
    def attempt(given: Any) -> object:
        try:
            return work(given)
        except Problem as problem:
            return problem

    return attempt


def _content() -> Iterator[Place]:
    configuration = compile_configuration(0, CultureSet((1033,), 1033, (1033,)), read_template(_template(0)), {})

    def read_line(raw: bytes) -> object:
        return LineReader(configuration, ZoneInfo("UTC")).read(raw, _fail)

    def survey(lines: list[TransferLine]) -> object:
        with closing(Survey(configuration.types)) as found:
            return [found.add(number, line) for number, line in enumerate(lines)]

    def selection(n: int) -> tuple[Attribute, list[str]]:
        known = tuple(SelectableValue(str(number), ()) for number in range(n))
        return Attribute(DataType.MULTI_SELECTION_VALUE, True, known), [str(number) for number in range(n)]

    yield Place("import: references of one line", "64 MB for a line", 300, lambda n: _line(1, n), read_line)
    yield Place(
        "import: versions of one element", "lines of the file", 300, lambda n: _versions(configuration, n), survey
    )
    yield Place(
        "keys of a selection", "selectable values of the type", 500, selection, lambda given: value_problem(*given)
    )
    yield Place(
        "moves in a tree: one chain",
        "`REPOSITORY_MAX_ELEMENTS`, 1,000",
        300,
        lambda n: Ancestry({str(each): str(each + 1) for each in range(n)}, {}),
        Ancestry.in_cycles,
    )
    yield Place("configuration: types of a template", BODY, 20, _template, read_template)
    yield Place(
        "configuration: differences of two",
        BODY,
        20,
        lambda n: (read_template(_template(n)), read_template(_template(n + 1))),
        lambda pair: find_differences(*pair),
    )


def _id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def _line(number: int, references: int) -> bytes:
    target = {"type": "system", "facetName": "it"}
    document = {
        **target, "id": _id(0), "versionId": _id(number), "state": "inProcess",
        "attributes": {"name": {"1033": "A"}, "version": {"127": f"0.{number}"}},
        "children": [{"id": _id(each), **target} for each in range(references)],
    }  # fmt: skip
    return to_json(document)


def _versions(configuration: Configuration, count: int) -> list[TransferLine]:
    reader = LineReader(configuration, ZoneInfo("UTC"))
    lines = [reader.read(_line(number, 0), _fail) for number in range(1, count)]
    return [each for each in lines if each]


def _fail(text: str) -> None:
    raise AssertionError(text)


def _template(more: int) -> dict[str, Any]:
    sections = load_template("standard").sections
    types = sections["types"]
    return {**sections, "types": {**types, **{f"system{number}": types["system"] for number in range(more)}}}
