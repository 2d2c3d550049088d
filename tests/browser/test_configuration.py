"""The configuration: the API returns changes that are made in the back office."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import NewVisitor, Visitor
from tests.scale import only_at_full_scale

pytestmark = [pytest.mark.long, pytest.mark.browser]
TYPES = "/demo/showcase/admin/facets/elementtype/"
CONFIG = "/demo/showcase/_api/rest/facets/processes/views/detail/config/mainProcess"


def properties(visitor: Visitor) -> list[dict[str, Any]]:
    answer = visitor.page.request.get(visitor.base + CONFIG).json()
    found: list[dict[str, Any]] = answer["values"][0]["properties"]
    return found


def open_type(visitor: Visitor) -> None:
    visitor.open(f"{TYPES}?q=mainProcess")
    visitor.follow(visitor.page.get_by_role("link", name="mainProcess", exact=True))


def test_a_property_is_renamed_and_the_preview_shows_the_response(visit: NewVisitor) -> None:
    rita = visit("rita")
    open_type(rita)
    rita.check_accessibility()
    row = rita.page.locator("tbody.form-group", has=rita.page.locator("input[value=purp]"))
    rita.follow(row.locator(".parts-link a"))
    rita.page.locator("input[name='display_names-1031']").fill("Zweck und Ziel")
    rita.page.locator("pre", has_text="Zweck und Ziel").first.wait_for()
    rita.check_accessibility()
    rita.follow(rita.page.locator("button[name=_save], input[name=_save]").first)
    renamed = next(each for each in properties(rita) if each["key"] == "purp")
    assert renamed["displayNames"] == {"1031": "Zweck und Ziel", "1033": "Purpose"}


@only_at_full_scale
def test_the_order_of_properties_is_changed_by_drag(visit: NewVisitor) -> None:
    rita = visit("rita")
    before = [each["key"] for each in properties(rita)]
    open_type(rita)
    handles = rita.page.locator(".form-group.original .parts-drag")
    source, target = handles.nth(2), handles.nth(1)
    source.scroll_into_view_if_needed()
    source.hover()
    rita.page.mouse.down()
    place = target.bounding_box()
    assert place is not None
    rita.page.mouse.move(place["x"] + 5, place["y"] + 12, steps=8)
    rita.page.mouse.move(place["x"] + 5, place["y"] + 4, steps=4)
    rita.page.mouse.up()
    rita.follow(rita.page.locator("button[name=_save], input[name=_save]").first)
    after = [each["key"] for each in properties(rita)]
    assert after == [before[0], before[2], before[1], *before[3:]]


def test_a_change_that_would_orphan_content_is_refused_and_input_is_kept(visit: NewVisitor) -> None:
    rita = visit("rita")
    before = properties(rita)
    open_type(rita)
    rita.expected.update({200, 409, 422})
    rita.page.locator("input[value=purp]").fill("purpose")
    rita.follow(rita.page.locator("button[name=_save], input[name=_save]").first)
    assert rita.page.locator("input[value=purpose]").count() == 1
    assert rita.page.get_by_text("the property is removed").first.is_visible()
    assert properties(rita) == before
