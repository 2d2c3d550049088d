"""Every way to change a storage, and the types of the events that it records (D325, D329, D342).

The lifecycle has its own table, in `tests/release/test_changes_of_versions.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elements.models import ElementVersion
from facets.models import Facet
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.drawing import draw, new
from tests.elements.feed import Document, Feed
from tests.elements.handbook import ID, RELEASED, TEMPLATE
from tests.elements.office import Office
from tests.elements.transfer_files import run
from tests.facets.office_forms import ConfigurationOffice, address, changed
from tests.factories import issued_token
from tests.storage.office import ticket

pytestmark = [pytest.mark.django_db, pytest.mark.long]
FACETS = "/acme/handbook/_api/rest/facets"
PROCESSES, SYSTEMS = (f"{FACETS}/{name}/views/detail/elements" for name in ("processes", "it"))
HERE = ("acme", "handbook")
TOKENS = "storage/apitoken/"
WIKI = {"type": "system", "attributes": {"name": {"1033": "Wiki"}}}


@pytest.fixture
def token(handbook: Storage) -> str:
    return issued_token(handbook, Role.ADMINISTRATOR)


@pytest.fixture
def feed(api: ApiClient, handbook: Storage, token: str) -> Feed:
    found = Feed(api, "acme/handbook", token)
    found.read()
    return found


class Ways:
    """Notes the types of the events of each way."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.found: dict[str, list[str]] = {}

    def note(self, way: str) -> None:
        self.found[way] = self.feed.types()


def written(response: Any) -> Document:
    assert response.status_code == 200, response.content
    found: Document = response.json()["elements"][0]
    return found


def test_elements(api: ApiClient, handbook: Storage, token: str, feed: Feed, tmp_path: Path) -> None:
    ways = Ways(feed)

    def write(element: Document, address: str = SYSTEMS) -> Document:
        body = {"elements": [element]}
        return written(api.post(address, body, content_type="application/json", token=token))

    wiki = write(WIKI)
    ways.note("API: create")
    write({"id": wiki["id"], "attributes": {"name": {"1033": "Wikis"}}})
    ways.note("API: update")
    write({"id": wiki["id"], "attributes": {"name": {"1033": "Wikis"}}})
    ways.note("API: update without a difference")
    write({"id": ID["order"], "rootPath": [{"id": ID["ship"]}]}, PROCESSES)
    ways.note("API: move")
    draw(api, token, "order", new(1, "task", "Pack"))
    ways.note("API: draw")
    assert api.delete(f"{PROCESSES}/{ID['order-3']}", token=token).status_code == 200
    ways.note("API: delete a draft")
    written(
        api.post(
            f"/acme/handbook/_api/release/{ID['order']}/createversion", content_type="application/json", token=token
        )
    )
    ways.note("API: new version")
    assert api.delete(f"{SYSTEMS}/{wiki['id']}", token=token).status_code == 200
    ways.note("API: delete")
    office = Office(handbook, Role.ADMINISTRATOR)
    path = "elements/element/add/?type=system"
    assert office.post(path, {**office.form(path), "a-name-1033": "New"}).status_code == 302
    [made] = feed.read()
    ways.found["back office: create"] = [made["type"]]
    path = f"elements/element/{made['subject']}/edit/"
    assert office.post(path, {**office.form(path), "a-name-1033": "Newer"}).status_code == 302
    ways.note("back office: update")
    path = f"elements/element/{made['subject']}/delete/"
    with tenant_scope(handbook):
        revision = ElementVersion.objects.get(element_id=made["subject"]).revision
    assert office.post(path, {"revision": revision}).status_code == 302
    ways.note("back office: delete")
    line: Document = {
        "facetName": "it",
        "id": ID["house"][:-2] + "f0",
        "versionId": ID["house"][:-2] + "f1",
        "state": "released",
    }
    line |= {"type": "system", "attributes": {"name": {"1033": "CRM"}, "version": {"127": "3.0"}, **RELEASED}}
    file = tmp_path / "elements.ndjson"
    file.write_text(json.dumps(line), encoding="utf-8")
    run("import_storage", *HERE, str(file))
    ways.found["command: import_storage"] = [
        f"{each['type']} {each['data'].get('version', '')}".strip() for each in feed.read()
    ]
    assert ways.found == {
        "API: create": ["element.created"],
        "API: update": ["element.changed"],
        # The history has an entry, and changedOn is later.
        "API: update without a difference": ["element.changed"],
        "API: move": ["element.moved"],
        "API: draw": ["element.created", "diagram.changed"],
        # With the elements that live in its diagram.
        "API: delete a draft": ["version.deleted", *["element.deleted"] * 3],
        "API: new version": ["version.created", *["element.created"] * 2],
        "API: delete": ["element.deleted"],
        "back office: create": ["element.created"],
        "back office: update": ["element.changed"],
        "back office: delete": ["element.deleted"],
        "command: import_storage": ["element.created", "version.released 3.0"],
    }


def test_tokens(handbook: Storage, feed: Feed, tmp_path: Path) -> None:
    """The element of a token has the id of the token, and changes with it."""
    ways, office = Ways(feed), Office(handbook, Role.ADMINISTRATOR)
    run("issue_token", *HERE, "--name", "robot", "--role", "viewer")
    ways.note("command: issue_token")
    run("rotate_token", *HERE, "robot")
    [event] = feed.read()
    token = ApiToken.objects.get(name="robot")
    assert token.old_valid_until is not None
    assert token.valid_until is not None
    assert event["data"] == {
        "tokenId": str(token.id), "name": "robot", "roles": ["viewer"], "caller": event["data"]["caller"],
        "requestId": event["data"]["requestId"], "oldValidUntil": token.old_valid_until.isoformat(),
        "validUntil": token.valid_until.isoformat(),
    }  # fmt: skip
    ways.found["command: rotate_token"] = [event["type"]]
    run("rotate_token", *HERE, "robot", "--end-old")
    [event] = feed.read()
    assert "oldValidUntil" not in event["data"]
    ways.found["command: rotate_token --end-old"] = [event["type"]]
    run("rotate_token", *HERE, "robot", "--end-old")
    ways.note("command: rotate_token --end-old, again")
    run("revoke_token", *HERE, "robot")
    ways.note("command: revoke_token")
    run("revoke_token", *HERE, "robot")
    ways.note("command: revoke_token, again")
    page = office.get(f"{TOKENS}add/").content.decode()
    office.post(f"{TOKENS}add/", {"name": "other", "roles": ["viewer"], "ticket": ticket(page)})
    ways.note("back office: issue")
    other = ApiToken.objects.get(name="other")
    office.post(f"{TOKENS}{other.pk}/rotate/", {"overlap": "3600", "seen": ""})
    ways.note("back office: rotate")
    office.post(f"{TOKENS}{other.pk}/end-old-value/")
    ways.note("back office: end the old value")
    office.post(f"{TOKENS}{other.pk}/limits/", {"is_read_only": "on", "seen": ""})
    ways.note("back office: change limits")
    office.post(TOKENS, {"action": "revoke_selected", "_selected_action": [str(other.pk)], "confirmed": "yes"})
    ways.note("back office: revoke")
    assert ways.found == {
        "command: issue_token": ["token.created"],
        "command: rotate_token": ["token.rotated"],
        "command: rotate_token --end-old": ["token.rotated"],
        "command: rotate_token --end-old, again": [],
        "command: revoke_token": ["element.changed", "token.revoked"],
        "command: revoke_token, again": [],
        "back office: issue": ["token.created"],
        "back office: rotate": ["token.rotated"],
        "back office: end the old value": ["token.rotated"],
        "back office: change limits": ["element.changed", "token.changed"],
        "back office: revoke": ["element.changed", "token.revoked"],
    }


def test_configuration(handbook: Storage, feed: Feed, tmp_path: Path) -> None:
    ways, file = Ways(feed), tmp_path / "template.json"
    office = ConfigurationOffice(handbook, Role.ADMINISTRATOR)
    path = address(handbook, Facet, name="it")
    office.save(path, changed(office.form(path), display_names__1033="Systems"))
    ways.note("back office: save")
    file.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    run("update_configuration", *HERE, str(file))
    ways.note("command: update_configuration")
    run("update_configuration", *HERE, str(file))
    ways.note("command: update_configuration without a difference")
    assert ways.found == {
        "back office: save": ["configuration.changed"],
        "command: update_configuration": ["configuration.changed"],
        "command: update_configuration without a difference": [],
    }


def test_restore(api: ApiClient, handbook: Storage, token: str, feed: Feed, tmp_path: Path) -> None:
    """Everything may be different, so clients are told to read all of it again; what the restore itself changes is in
    the feed."""
    path = tmp_path / "backup.zip"
    back_up_storage(handbook, path)
    remove_storage(Storage.objects.get(pk=handbook.pk))
    restored = restore_storage(path).storage
    later = issued_token(restored, Role.ADMINISTRATOR)
    response = api.get(f"{feed.address}?$after={feed.cursor}", token=later)
    assert response.status_code == 410
    feed.token, feed.cursor = later, response.json()["next"]
    assert feed.types()[-3:] == ["element.changed", "token.revoked", "token.created"]
    with tenant_scope(restored):
        assert ApiToken.objects.filter(storage=restored, revoked_on=None).count() == 1
