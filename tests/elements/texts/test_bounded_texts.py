"""Texts in responses and pages that are bounded, because a request or a page can repeat them many times."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import QueryDict

from elements.api.query import SELECT, Names, QueryParameters
from elements.diagrams.drawables import LayoutKey
from elements.presentation.labels import LONGEST_LINK, Text
from elements.reading.diagrams.drawings import DrawnShape
from elements.reading.diagrams.pictures import DrawnShapes, draw_diagram
from elements.values.checking import value_problem
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, SelectableValue
from repository_site.core.problems import Invalid, Unreadable
from repository_site.core.rest.errors import MOST_DETAILS, problem_answer
from repository_site.core.wording import HINTED
from storage.localisation.cultures import CultureSet
from storage.models import Storage
from storage.webhooks.checking import checked_fields


def test_only_the_first_unknown_names_get_a_hint() -> None:
    """Finding similar names takes a hundred times as long as everything else about a name."""
    given = QueryDict(mutable=True)
    given[SELECT] = ",".join(f"nam{number}" for number in range(50))
    query = QueryParameters(given, (SELECT,))
    query.select(Names(frozenset({"name"}), frozenset()))
    with pytest.raises(Unreadable) as caught:
        query.finish()
    assert ["similar: name" in each for each in caught.value.details] == [number < HINTED for number in range(50)]


def test_only_the_first_unknown_fields_get_a_hint() -> None:
    findings = Findings()
    InputReader(findings).elements({"elements": [{f"stat{number}": 1} for number in range(200)]})
    with pytest.raises(Unreadable) as caught:
        findings.raise_any()
    assert ["similar: state" in each for each in caught.value.details] == [number < HINTED for number in range(200)]


@pytest.mark.django_db
def test_only_the_first_unknown_fields_of_a_webhook_get_a_hint(storage: Storage) -> None:
    given = {"url": 1, **{f"urls{number}": 1 for number in range(50)}}
    with pytest.raises(Invalid) as caught:
        checked_fields(storage, given)
    assert ["similar: url" in each for each in caught.value.details[:50]] == [number < HINTED for number in range(50)]


def test_a_response_lists_a_limited_number_of_problems() -> None:
    details = [str(number) for number in range(MOST_DETAILS + 1)]
    data = json.loads(problem_answer(Invalid("Many problems.", details)).content)["data"]
    assert [each["error"] for each in data] == details[:MOST_DETAILS]


def test_a_link_shows_the_beginning_of_a_long_name() -> None:
    assert Text("Order", "de").for_link == "Order"
    cut = Text("x" * 301, "de").for_link
    assert (cut, cut.lang) == ("x" * LONGEST_LINK + "…", "de")


def test_a_message_names_the_first_keys_of_a_selection() -> None:
    keys = [f"key{number}" for number in range(150)]
    attribute = Attribute(DataType.SELECTION_VALUE, True, tuple(SelectableValue(key, ()) for key in keys))
    assert value_problem(attribute, "key149") is None
    assert value_problem(attribute, "other") == f"must be one of {', '.join(keys[:100])}, …"


def test_an_element_with_many_shapes_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attributes of an element can be much larger than a shape."""
    parsed: list[bytes] = []

    def loads(text: bytes) -> dict[str, Any]:
        parsed.append(text)
        return {}

    monkeypatch.setattr("elements.reading.diagrams.pictures.orjson", SimpleNamespace(loads=loads))
    configuration = SimpleNamespace(cultures=CultureSet((1033,), 1033, (1033,)), types={})
    type = SimpleNamespace(key="task", display_names=(), color="#007ACC", has_diagram=False, insertables=())
    reader: Any = SimpleNamespace(types={"t": type}, configuration=configuration)
    row: Any = SimpleNamespace(type="t", attributes=b"{}", identity=None)
    shapes = [DrawnShape(f"s{number}", "e", number) for number in range(50)]
    drawn = DrawnShapes(shapes, [], {"e": row})
    assert draw_diagram(reader, row, drawn, 1033, LayoutKey.VERTICAL).count("<title>") == 51
    assert len(parsed) == 2
