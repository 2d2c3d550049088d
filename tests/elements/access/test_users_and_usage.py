"""Answers of elements to the apps below: user elements behind tokens, and content that a configuration change would
orphan."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from elements.models import ElementVersion
from elements.users import find_user
from facets.blueprint.definitions import Blueprint
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from facets.template_format.reading import read_template
from repository_site.core.problems import Conflict
from storage.access.tokens import recognise_token
from storage.extension import UserGrant
from storage.models import Storage, StorageRevision
from storage.options import Role
from storage.provisioning.templates import load_template
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.transfer_files import guid, line, reference, version, write
from tests.factories import StorageFactory, storage_context

pytestmark = [pytest.mark.django_db, pytest.mark.long]
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
        ("type", "tag: the type is removed, but 1 element has this type."),
        ("attribute", "user.roleEditor: the property is removed, but 2 versions have a value for it."),
        ("context", "subProcess.tagFilters: the property is removed, but 1 reference uses this context."),
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
    """Remove the type `tag`; its facet keeps another one, so that the template stays valid."""
    document = json.loads(json.dumps(template).replace('"tag"', '"label"'))
    return dict(document)


# States of versions.


@pytest.fixture
def busy(house: Storage, tmp_path: Path) -> Storage:
    """`house` with more versions, and a rival with the same ids in other states."""
    rival = StorageFactory.create(collection="rival", key="house", template="standard")
    for storage, states in ((house, ("inReview", "requestToExpire")), (rival, ("readyForQa", "inEffect"))):
        lines = [version(number, number + 100, states[0], "0.1") for number in (51, 52)]
        lines += [version(53, 153, states[1], "1.0"), version(54, 154, states[0], "0.1", type="mainProcess")]
        file = write(tmp_path / f"{storage.collection.key}.ndjson", *lines)
        call_command("import_storage", storage.collection.key, "house", file, stderr=StringIO())
    return house


def with_cycles(change: Callable[[dict[str, Any]], None]) -> Blueprint:
    """Return the standard template after a change of its document."""
    document = copy.deepcopy(dict(load_template("standard").sections))
    change(document)
    return read_template(document)


def remove_states(document: dict[str, Any], cycle: str, *states: str) -> None:
    """Remove states with their transitions, and without the rules, which may name them."""
    found = document["releaseCycles"][cycle]
    found["states"] = {key: each for key, each in found["states"].items() if key not in states}
    found["transitions"] = {
        key: each for key, each in found["transitions"].items() if not {each["from"], each["to"]} & {*states}
    }
    document["validationRules"] = {}


def use_second_cycle(document: dict[str, Any], *without: str) -> None:
    """Give sub-processes, and only them, a cycle that has all states but these."""
    document["releaseCycles"]["second"] = copy.deepcopy(document["releaseCycles"]["standard"])
    remove_states(document, "second", *without)
    document["types"]["subProcess"]["releaseCycle"] = "second"


def retire(document: dict[str, Any]) -> None:
    document["releaseCycles"]["standard"]["states"]["requestToExpire"]["category"] = "retired"


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (
            lambda document: remove_states(document, "standard", "inReview", "readyForQa", "readyForRelease"),
            (
                "mainProcess.inReview: the state is removed from its release cycle, but 1 version is in this state.",
                "subProcess.inReview: the state is removed from its release cycle, but 2 versions are in this state.",
            ),
        ),
        (retire, ("subProcess.requestToExpire: the category of the state changes, but 1 version is in this state.",)),
        (
            lambda document: use_second_cycle(document, "inReview", "inEffect"),
            ("subProcess.inReview: the state is removed from its release cycle, but 2 versions are in this state.",),
        ),
    ],
)
def test_a_state_in_use_cannot_be_removed(
    busy: Storage, change: Callable[[dict[str, Any]], None], problems: tuple[str, ...]
) -> None:
    before = stored(busy)
    with pytest.raises(Conflict) as caught:
        change_configuration(busy, with_cycles(change))
    assert tuple(sorted(caught.value.details)) == problems
    assert stored(busy) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda document: remove_states(document, "standard", "readyForQa", "inEffect"),
        lambda document: use_second_cycle(document, "readyForQa", "inEffect"),
    ],
)
def test_an_unused_state_can_be_removed(busy: Storage, change: Callable[[dict[str, Any]], None]) -> None:
    (_, revision, versions), new = stored(busy), with_cycles(change)
    change_configuration(busy, new)
    found = stored(busy)
    assert (found[0], found[2]) == (new, versions)
    assert found[1] != revision


def stored(storage: Storage) -> tuple[Blueprint, int, list[tuple[Any, ...]]]:
    with tenant_scope(storage):
        versions = ElementVersion.objects.order_by("id").values_list("id", "state", "category")
        revision = StorageRevision.objects.get(pk=storage.pk).configuration_revision
        return read_blueprint(), revision, list(versions)
