"""Inputs that are written without templates equal those of Django (D654)."""

from __future__ import annotations

from typing import Any, cast

import pytest
from django import forms
from django.forms.renderers import TemplatesSetting
from django.utils.html import format_html
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from facets.admin.drafting.choice_fields import ListField, Option, RowChoices, RowField
from facets.admin.drafting.text_fields import TextsField
from repository_site.core.page_templates import INPUTS, WidgetRenderer
from storage.localisation.cultures import CultureSet

WIDGETS: list[type[forms.Widget]] = [
    forms.CheckboxInput,
    forms.EmailInput,
    forms.HiddenInput,
    forms.NumberInput,
    forms.PasswordInput,
    forms.TextInput,
    forms.URLInput,
]
VALUES: list[Any] = [
    None, "", True, False, 0, 12345, 1.5, (), "a \"b\" <c> & 'd'", format_html("&amp;{}", "<"), gettext_lazy("Name"),
]  # fmt: skip
ATTRIBUTES: dict[str, Any] = {
    "id": "id_x",
    "required": True,
    "disabled": False,
    "size": 1000,
    "title": "\"<'",
    "x-data": format_html("{{a: {}}}", "<"),
    "placeholder": gettext_lazy("Name"),
    "data-none": None,
}


def test_every_template_that_is_replaced_has_a_widget_here() -> None:
    assert {widget.template_name for widget in WIDGETS} == INPUTS


@pytest.mark.parametrize("widget", WIDGETS)
def test_inputs_equal_those_of_django(widget: Any) -> None:
    for value in VALUES:
        made = widget(ATTRIBUTES)
        found, expected = (
            made.render("a-<0>", value, renderer=each) for each in (WidgetRenderer(), TemplatesSetting())
        )
        assert found == expected
        assert hasattr(found, "__html__")


def test_a_text_field_of_unfold_equals_its_template_but_for_spaces() -> None:
    for value in VALUES:
        made = UnfoldAdminTextInputWidget(ATTRIBUTES)
        found, expected = (made.render("a", value, renderer=each) for each in (WidgetRenderer(), TemplatesSetting()))
        assert found == "".join(line.strip() for line in expected.splitlines())


@pytest.mark.parametrize("addition", ["prefix", "prefix_icon", "suffix", "suffix_icon"])
def test_a_text_field_shows_what_is_added_to_it(addition: str) -> None:
    made = UnfoldAdminTextInputWidget({addition: "mail"}).render("a", "", renderer=WidgetRenderer())
    assert ">mail<" in "".join(made.split())


def test_a_select_marks_its_own_option_among_shared_ones() -> None:
    shared = RowChoices([Option("1", "One"), Option('a"', "<A>", heading="B & C"), Option("12", "Twelve")])

    class Rows(forms.Form):
        first = RowField()
        second = RowField()
        third = RowField()

    rows = Rows(initial={"first": "1", "second": 'a"', "third": "unknown"})
    for field in rows.fields.values():
        cast("RowField", field).offer(shared)
    assert [str(field).partition("<option")[2].partition("</select>")[0] for field in rows] == [
        f' value="">Select value</option><option value="1"{first}>One</option><option value="12">Twelve</option>'
        f'<optgroup label="B &amp; C"><option value="a&quot;"{second}>&lt;A&gt;</option></optgroup>'
        for first, second in ((" selected", ""), ("", " selected"), ("", ""))
    ]


@pytest.mark.parametrize("is_ordered", [False, True])
def test_items_of_a_list_show_any_label(is_ordered: bool) -> None:
    field = ListField(is_ordered=is_ordered, label="Types")
    field.offer([Option('a"', "{0} %s <B>", "1 & 2", "{h}"), Option("b", "Plain")])
    html = str(field.widget.render("rows-<0>", ["b"])).partition("<ul")[2]
    first, second = (html.index(f"<span>{label}</span>") for label in ("{0} %s &lt;B&gt;", "Plain"))
    assert (second < first) is is_ordered
    for part in (
        '<input type="checkbox" name="rows-&lt;0&gt;" value="a&quot;"><span>{0} %s &lt;B&gt;</span>',
        '<span class="pick-heading">{h}</span>',
        ' data-group="1 &amp; 2">',
        '<input type="checkbox" name="rows-&lt;0&gt;" value="b" checked><span>Plain</span>',
    ):
        assert html.count(part) == 1, part
    assert html.count('aria-label="Move {0} %s &lt;B&gt; up"') == is_ordered


def test_texts_show_any_value() -> None:
    field = TextsField(cultures=CultureSet((1031, 1033), 1031, (1033,)), kind="area")
    html = str(field.widget.render("a<0>", {"1031": "{name} & </textarea>"}, {"id": "id_a<0>"}))
    assert html.count('<textarea name="a&lt;0&gt;-1031" id="id_a&lt;0&gt;" lang="de-DE"') == 1
    assert html.count("\n{name} &amp; &lt;/textarea&gt;</textarea>") == 1
    assert html.count('<textarea name="a&lt;0&gt;-1033" id="id_a&lt;0&gt;-1033" lang="en-US"') == 1
    assert html.count("texts-mandatory") == html.count("texts-star") == 1
