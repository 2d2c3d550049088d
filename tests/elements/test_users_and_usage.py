"""What elements tell the apps below: user elements behind tokens, and content that a configuration change would orphan."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from elements.users import find_user
from storage.callers import UserGrant
from storage.models import Storage
from storage.roles import Role
from storage.tokens import recognise_token
from tests.api_client import ApiClient
from tests.elements.test_transfer import guid, line, reference, version, write
from tests.factories import StorageFactory, storage_context

pytestmark = pytest.mark.django_db
USER = UUID(guid(40))


@pytest.fixture
def house(other_storage: Storage, tmp_path: Path) -> Storage:
    storage = StorageFactory.create(key="house", template="standard")
    roles = {"roleEditor": {"127": True}, "roleApprover": {"127": False}, "roleViewer": {"127": True}}
    file = write(
        tmp_path / "house.ndjson",
        line(40, "user", "users", attributes=roles),
        line(41, "user", "users", attributes={"roleEditor": {"127": True}, "roleInactive": {"127": True}}),
        line(42),
        version(2, 3, "released", "1.0", related={"tagFilters": [reference(42)]}),
    )
    call_command("import_storage", "acme", "house", file, stderr=StringIO())
    return storage


def test_the_roles_of_a_user(house: Storage, other_storage: Storage) -> None:
    assert find_user(house, USER) == UserGrant(frozenset({Role.VIEWER, Role.EDITOR}), is_inactive=False)
    assert find_user(house, UUID(guid(41))) == UserGrant(frozenset({Role.EDITOR}), is_inactive=True)
    assert find_user(house, UUID(guid(42))) is None
    assert find_user(other_storage, USER) is None


def test_a_token_issued_for_a_user_by_command(api: ApiClient, house: Storage) -> None:
    out = StringIO()
    words = "--name t --role editor --role approver --user".split()
    call_command("issue_token", "acme", "house", *words, str(USER), stdout=out, stderr=StringIO())
    caller = recognise_token(out.getvalue().strip(), storage_context(house))
    assert (caller.element_id, caller.roles) == (USER, frozenset({Role.EDITOR}))
    assert api.get("/acme/house/_api/rest/info", token=out.getvalue().strip()).status_code == 200
    with pytest.raises(CommandError, match="there is no user"):
        call_command("issue_token", "acme", "house", *words, guid(42), stdout=out, stderr=StringIO())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("type", "tag: the type is removed, but 1 element(s) are of this type."),
        ("attribute", "user.roleEditor: the property is removed, but 2 version(s) have a value for it."),
        ("context", "subProcess.tagFilters: the property is removed, but 1 reference(s) are in it."),
        ("value", None),
    ],
)
def test_a_change_that_would_orphan_content_is_refused(
    house: Storage, tmp_path: Path, change: str, problem: str | None
) -> None:
    out = StringIO()
    call_command("export_template", "acme", "house", stdout=out)
    template = json.loads(out.getvalue())
    if change == "type":
        template = remove_type(template)
    elif change == "value":
        values = template["properties"]["processMaturity"]["attribute"]["selectableValues"]
        template["properties"]["processMaturity"]["attribute"]["selectableValues"] = values[:-1]
    else:
        owner, key = ("user", "roleEditor") if change == "attribute" else ("subProcess", "tagFilters")
        remove_property(template, owner, key)
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(template))
    if problem is None:
        call_command("update_configuration", "acme", "house", str(file), stdout=out, stderr=StringIO())
        return
    with pytest.raises(CommandError) as caught:
        call_command("update_configuration", "acme", "house", str(file), stdout=out, stderr=StringIO())
    assert problem in str(caught.value)


def remove_property(template: dict[str, object], owner: str, key: str) -> None:
    types: dict[str, dict[str, list[object]]] = template["types"]  # type: ignore[assignment]
    types[owner]["properties"] = [
        each
        for each in types[owner]["properties"]
        if each != key and not (isinstance(each, dict) and each["key"] == key)
    ]
    text = json.dumps(template["facets"])
    for spelling in (f'"{key}", ', f', "{key}"', f'"{key}"'):
        text = text.replace(spelling, "") if owner == "user" else text
    facets = json.loads(text)
    if owner != "user":
        for view in facets["processes"]["views"].values():
            override = view["typeOverrides"].get(owner)
            if override and isinstance(override["properties"], list) and key in override["properties"]:
                override["properties"].remove(key)
    template["facets"] = facets


def remove_type(template: dict[str, object]) -> dict[str, object]:
    """Without the type `tag`: its facet keeps another one, so that the template itself stays good."""
    document = json.loads(json.dumps(template).replace('"tag"', '"label"'))
    return dict(document)
