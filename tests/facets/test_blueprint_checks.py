"""The rules of templates for rows that were edited by hand, and the comparison of API answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from facets.admin.drafting.preview_panel import ApiAnswer, compiled, panel_of
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, Blueprint, SelectableValue
from facets.changing.blueprint_checks import check_blueprint
from facets.changing.changes import plan_edit
from facets.models import ElementType, Facet
from facets.rows.drafts import Draft
from facets.template_format.reading import read_template
from storage.localisation.cultures import CultureSet
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.facets.small_template import SMALL

OLD = read_template(SMALL)
PROPERTIES = OLD.types[0].properties
OTHER = replace(PROPERTIES[0], display_names=((1033, "Other"),))
CULTURES = CultureSet((1033, 1031), 1033, (1033,))


def with_type(**changes: Any) -> Blueprint:
    first, *others = OLD.types
    return replace(OLD, types=(replace(first, **changes), *others))


@pytest.mark.parametrize(
    ("changed", "problems"),
    [
        (OLD, []),
        (
            with_type(color="blue"),
            [
                "types.Thing.color: 'blue' is not a colour; use # and six hexadecimal digits in capitals, such as #007ACC"
            ],
        ),
        (
            replace(OLD, types=(*OLD.types, OLD.types[1]), layouts=(*OLD.layouts, OLD.layouts[0])),
            ["types.box: occurs twice", "layouts.Wide & high: occurs twice"],
        ),
        (
            with_type(properties=(replace(OLD.types[0].properties[0], display_names=()), *OLD.types[0].properties[1:])),
            [
                "types.Thing.properties[0].displayNames: expected texts by culture id, such as"
                ' {"1031": "Prozess", "1033": "Process"}'
            ],
        ),
        # Several types share the first property. In a template that shares it, OTHER would silently replace it.
        (
            with_type(properties=(*PROPERTIES, OTHER)),
            ['types.Thing.properties[3]: the property "name" is defined twice'],
        ),
        (
            with_type(properties=(OTHER, *PROPERTIES)),
            ['types.Thing.properties[1]: the property "name" is defined twice'],
        ),
        # A template cannot express these, so an export would lose them.
        (
            with_type(release_cycle=""),
            ["cannot be written to a template: ~ types.Thing.release_cycle: nothing -> quick"],
        ),
        (
            with_type(
                properties=(
                    replace(
                        OLD.types[0].properties[0],
                        attribute=Attribute(
                            DataType.BOOLEAN, is_invariant_culture=False, selectable_values=(SelectableValue("a", ()),)
                        ),
                    ),
                    *OLD.types[0].properties[1:],
                )
            ),
            ["cannot be written to a template: - types.Thing.properties.name.attribute.selectable_values.a"],
        ),
    ],
)
def test_problems_have_their_places(changed: Blueprint, problems: list[str]) -> None:
    assert check_blueprint(changed, CULTURES) == problems


@pytest.mark.django_db
def test_existing_problems_do_not_prevent_other_corrections(small: Storage) -> None:
    with tenant_scope(small):
        Facet.objects.filter(name="people").update(display_names={})
        ElementType.objects.filter(key="dot").update(color="black")
        dot = ElementType.objects.get(key="dot").pk
    mend = plan_edit(small, lambda draft: draft.change(ElementType, dot, color="#000000"))
    assert mend.problems == []
    worse = plan_edit(small, lambda draft: draft.change(ElementType, dot, color="blue"))
    assert worse.problems == [
        "types.dot.color: 'blue' is not a colour; use # and six hexadecimal digits in capitals, such as #007ACC"
    ]


@pytest.mark.django_db
def test_answers_are_compared_line_by_line(small: Storage) -> None:
    with tenant_scope(small):
        box = str(ElementType.objects.get(key="box").pk)

    def edit(draft: Draft) -> None:
        draft.change(ElementType, box, color="#FFFFFF")

    def answers(configuration: Any, rows: Any) -> list[ApiAnswer]:
        color = configuration.types["box"].color
        return [ApiAnswer("same", [1]), ApiAnswer("colours", [*range(20), color, *range(20)])]

    same, other = panel_of(plan_edit(small, edit), answers).answers
    assert (same.is_changed, same.is_shown, other.is_changed, other.is_shown) == (False, False, True, True)
    assert [(each.kind, each.count) for each in other.passages] == [
        ("folded", 18), ("same", 3), ("gone", 1), ("new", 1), ("same", 3), ("folded", 18),
    ]  # fmt: skip
    assert [each.text for each in other.passages[2:4]] == ['-   "#AABBCC",', '+   "#FFFFFF",']
    assert compiled(OLD, CULTURES).blueprint == OLD
