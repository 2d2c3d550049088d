"""Texts in responses and pages that are bounded, because a request or a page can repeat them many times."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from elements.api.query import HINTED as HINTED_PARAMETERS
from elements.api.query import SELECT, Names, QueryParameters
from elements.presentation.labels import LONGEST_LINK, Text
from elements.writing.findings import HINTED, Findings
from elements.writing.inputs import InputReader
from repository_site.core.problems import Unreadable


def test_only_the_first_unknown_names_get_a_hint() -> None:
    """Finding similar names takes a hundred times as long as everything else about a name."""
    given = QueryDict(mutable=True)
    given[SELECT] = ",".join(f"nam{number}" for number in range(50))
    query = QueryParameters(given, (SELECT,))
    query.select(Names(frozenset({"name"}), frozenset()))
    with pytest.raises(Unreadable) as caught:
        query.finish()
    assert ["similar: name" in each for each in caught.value.details] == [
        number < HINTED_PARAMETERS for number in range(50)
    ]


def test_only_the_first_unknown_fields_get_a_hint() -> None:
    findings = Findings()
    InputReader(findings).elements({"elements": [{f"stat{number}": 1} for number in range(200)]})
    with pytest.raises(Unreadable) as caught:
        findings.raise_any()
    assert ["similar: state" in each for each in caught.value.details] == [number < HINTED for number in range(200)]


def test_a_link_shows_the_beginning_of_a_long_name() -> None:
    assert Text("Order", "de").for_link == "Order"
    cut = Text("x" * 301, "de").for_link
    assert (cut, cut.lang) == ("x" * LONGEST_LINK + "…", "de")
