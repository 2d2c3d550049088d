"""Versions in a release cycle other than the standard one (D21): the configuration gives its states their meaning."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from elements.models import ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.transfer_files import guid, write
from tests.facets.small_template import small_template
from tests.factories import StorageFactory, token_for

pytestmark = pytest.mark.django_db
ELEMENTS = "/acme/small/_api/rest/facets/things, étc./views/all of it/elements"
STATES = {"draft": "draft", "checked": "review", "out": "published", "valid": "published", "gone": "retired"}


@pytest.fixture
def small(other_storage: Storage, tmp_path: Path) -> Storage:
    template = tmp_path / "small.json"
    template.write_text(json.dumps(small_template()), encoding="utf-8")
    return StorageFactory.create(collection="acme", key="small", template=str(template), anonymous="read")


def thing(number: int, state: str) -> dict[str, Any]:
    attributes = {"name": {"1033": state}, "version": {"127": "1.0"}}
    identity = {"facetName": "things, étc.", "id": guid(number), "versionId": guid(number + 100), "type": "Thing"}
    return {**identity, "state": state, "attributes": attributes}


def test_imported_versions_get_the_categories_of_their_cycle(api: ApiClient, small: Storage, tmp_path: Path) -> None:
    file = write(tmp_path / "things.ndjson", *(thing(number, state) for number, state in enumerate(STATES)))
    call_command("import_storage", "acme", "small", file, stderr=StringIO())
    with tenant_scope(small):
        assert dict(ElementVersion.objects.values_list("state", "category")) == STATES

    def shown(token: str | None) -> set[str]:
        return {each["state"] for each in api.get(ELEMENTS, token=token).json()["elements"]}

    assert shown(None) == {"out", "valid"}
    assert shown(token_for(small, Role.ANALYZER)) == {*STATES}


def test_states_of_other_cycles_are_unknown(small: Storage, tmp_path: Path) -> None:
    file = write(tmp_path / "things.ndjson", thing(1, "open"), thing(2, "released"))
    err = StringIO()
    with pytest.raises(CommandError, match="2 problems"):
        call_command("import_storage", "acme", "small", file, stderr=err)
    assert err.getvalue().splitlines() == [
        f"line 1: {guid(1)}: unknown state 'open'; allowed: checked, draft, gone, out, valid",
        "    1 more of this kind: line 2",
    ]


def test_a_new_element_starts_in_the_first_state_of_its_cycle(api: ApiClient, small: Storage) -> None:
    editor = token_for(small, Role.EDITOR)

    def create(**more: Any) -> Any:
        made = {"type": "Thing", "attributes": {"name": {"1033": "New"}}, **more}
        return api.post(ELEMENTS, {"elements": [made]}, content_type="application/json", token=editor)

    assert create().json()["elements"][0]["state"] == "draft"
    with tenant_scope(small):
        assert list(ElementVersion.objects.values_list("state", "category")) == [("draft", "draft")]
    assert create(state="draft").status_code == 200
    refused = create(state="inProcess")
    assert (refused.status_code, refused.json()["message"]) == (
        409, "elements[0]: a new Thing starts in the state draft; leave out state.",
    )  # fmt: skip
