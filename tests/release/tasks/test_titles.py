"""Titles of tasks in the language of the reader."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from facets.template_format.reading import read_template
from release.tasks.titles import STANDARD_TITLES, task_title
from storage.provisioning.templates import load_template


def test_all_types_of_the_standard_template_have_a_title() -> None:
    cycles = read_template(load_template("standard").sections).cycles
    states = {state.task for cycle in cycles for state in cycle.states}
    transitions = {transition.task for cycle in cycles for transition in cycle.transitions}
    assert (states | transitions) - {""} == STANDARD_TITLES


@pytest.mark.parametrize(
    ("type", "title"),
    [
        ("Review", "Prüfung"),
        ("Quality assurance", "Qualitätssicherung"),
        ("Approve release", "Freigabe genehmigen"),
        ("Approve expiry", "Ablauf genehmigen"),
        ("Delete", "Delete"),
        ("", ""),
    ],
)
def test_titles_in_german(type: str, title: str) -> None:
    with override("de"):
        assert task_title(type) == title
