"""Every operation by every caller on elements in every state, compared with the matrix; and rules of the matrix.

After an intended change, `WRITE_PERMISSIONS=1` with `-m ""` writes the matrix again, and `make docs` its page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from elements.permission_sets.inheritance import renew_inherited
from facets.models import PermissionSet
from repository_site.api_document.document import openapi_document
from storage.access.token_limits import TokenLimits
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.private_desk import write_template
from tests.factories import issued_token, token_for
from tests.permissions.matrix import CALLERS, PAGE, SUBJECTS, add, page, read
from tests.permissions.operations import (
    ABOUT_A_TASK,
    ABOUT_A_WEBHOOK,
    ABOUT_ELEMENTS,
    ABOUT_THE_STORAGE,
    RECEIVER,
    Request,
    Subject,
)
from tests.release.house import ID, STATES, lines

pytestmark = pytest.mark.django_db
FREE, ROOF, THEIRS, UNKNOWN, TOKEN, RISK, LIMITED = (
    f"00000000-0000-4000-9000-00000000000{number}" for number in range(1, 8)
)
FREE_VERSION, THEIR_VERSION, LIMITED_VERSION = (
    f"00000000-0000-4000-9000-0000000000{number}" for number in (11, 13, 17)
)
NONE, TASK, WEBHOOK = "the storage", "the task", "the webhook"
# Quick tests ask about these, as these callers; and about unknown tasks and webhooks.
FEW: Mapping[str, Collection[str]] = {
    **dict.fromkeys((NONE, TASK, WEBHOOK, "inProcess", "released"), CALLERS),
    "limited": ("viewer", "editor", "author", "architect", "administrator"),
    "another storage's": ("viewer", "author", "administrator"),
}
PLACES = {name: place for place, name in enumerate(CALLERS)}
# Second addresses and methods of the same operation: see D1, D2 and D19.
OTHER_WAYS = ("ByPost", "UnderRest", "IgnoringWarnings")
ADMINISTRATIVE = {
    "listAdministrationFacets", "listAdministrationViews", "listAdministrationElements", "getAdministrationElement",
    "listNodes", "listNodesOfPool", "listStorages", "provisionStorage",
}  # fmt: skip
"""Only for tokens of administrative contexts; tests/storage/test_administration_api.py, test_nodes_api.py and
test_storages_api.py test them."""
# Subscribing and permalinks change nothing of the element.
WRITING = {name for name, each in {**ABOUT_ELEMENTS, **ABOUT_A_TASK}.items() if each.method != "GET"} - {
    "subscribe",
    "unsubscribe",
    "createPermalink",
    "createPermalink, of the version",
}


def draft(name: str, element: str, version: str) -> dict[str, Any]:
    return {
        "facetName": "processes", "id": element, "versionId": version, "type": "subProcess", "state": "inProcess",
        "attributes": {"name": {"1033": name}, "version": {"127": "0.1"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """See `tests/release/house.py`; with a draft without author, and an element of the other tenant only."""
    folder = tmp_path_factory.mktemp("permissions")
    name = {"name": {"1033": "Roof"}}
    roof = {"facetName": "processes", "id": ROOF, "creationId": ROOF, "type": "processHouse", "attributes": name}

    def file(name: str, prefix: str, *more: dict[str, Any]) -> Path:
        path = folder / name
        path.write_text("".join(json.dumps(each) + "\n" for each in [*lines(prefix), *more]), encoding="utf-8")
        return path

    fields = {"key": "house", "template": write_template(folder / "template.json"), "time_zone": "Europe/Berlin"}
    token = {"facetName": "automation", "id": TOKEN, "creationId": TOKEN, "type": "authToken", "attributes": name}
    numbered = {**name, "version": {"127": "1.0"}}
    identity = {"facetName": "risks", "id": RISK, "versionId": RISK.replace("9", "a"), "type": "risk"}
    risk = {**identity, "state": "released", "attributes": numbered}
    drafts = draft("Free", FREE, FREE_VERSION), draft("Limited", LIMITED, LIMITED_VERSION)
    own = file("own.ndjson", "", roof, token, risk, *drafts)
    theirs = file("theirs.ndjson", "Rival ", draft("Theirs", THEIRS, THEIR_VERSION))
    with (
        filled_storage(own, collection="acme", **fields) as storage,
        filled_storage(theirs, collection="rival", **fields) as rival,
    ):
        storage.rival = rival  # type: ignore[attr-defined]  # for the token of the stranger
        yield storage


@pytest.fixture
def clients(house: Storage) -> dict[str, Client]:
    rival: Storage = house.rival  # type: ignore[attr-defined]
    with tenant_scope(house):
        PermissionSet.objects.create(number=1, creation_id=LIMITED, entries={"show": [ID["anna"]]})
        renew_inherited([LIMITED])
    tokens = {each.value: token_for(house, each) for each in Role}
    tokens["approver"] = token_for(house, Role.APPROVER, user_id=ID["ben"])
    tokens["author"] = token_for(house, Role.EDITOR, user_id=ID["anna"])
    tokens["stranger"] = token_for(rival, Role.ADMINISTRATOR)
    tokens["limited"] = issued_token(house, Role.ADMINISTRATOR, limits=TokenLimits(facets=["processes"]))
    tokens["reading"] = issued_token(house, Role.ADMINISTRATOR, limits=TokenLimits(is_read_only=True))
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    found = {name: Client(headers=headers.get(name, {}), raise_request_exception=False) for name in CALLERS}
    for client in found.values():
        # Otherwise each request whose changes are rolled back would note the first use of the token again.
        client.get("/acme/house/_api/rest/info")
    return found


def subjects() -> dict[str, Subject]:
    found = {each: Subject(each, "processes", "subProcess", ID[each], ID[f"{each}-s1"]) for each in STATES}
    found["without author"] = Subject("inProcess", "processes", "subProcess", FREE)
    found["architectural"] = Subject("", "processes", "processHouse", ROOF)
    found["user"] = Subject("", "users", "user", ID["dora"])
    found["token"] = Subject("", "automation", "authToken", TOKEN)
    found["not for readers"] = Subject("released", "risks", "risk", RISK)
    found["limited"] = Subject("inProcess", "processes", "subProcess", LIMITED)
    found["another storage's"] = Subject("inProcess", "processes", "subProcess", THEIRS)
    found["unknown"] = Subject("inProcess", "processes", "subProcess", UNKNOWN)
    assert found.keys() == SUBJECTS.keys()
    return found


def status(client: Client, request: Request, subject: Subject) -> int:
    """Send a request, roll back what it has written, and return the status."""
    is_read = request.method == "GET"
    with nullcontext() if is_read else transaction.atomic():
        path, content = f"/acme/house/_api/{request.path(subject)}", request.content(subject)
        answer = client.generic(request.method, path, content, content_type=request.content_type)
        b"".join(answer.streaming_content) if answer.streaming else None  # type: ignore[attr-defined]
        if not is_read:
            transaction.set_rollback(True)
    return int(answer.status_code)


def questions(clients: Mapping[str, Client]) -> Iterator[tuple[str, Request, dict[str, Subject]]]:
    """Yield each operation, its request, and what it is sent about."""
    unknown = {"unknown": Subject("", "", "", UNKNOWN)}
    for name, request in ABOUT_THE_STORAGE.items():
        yield name, request, {NONE: Subject(NONE, "processes", "subProcess", UNKNOWN)}
    for name, request in ABOUT_ELEMENTS.items():
        yield name, request, subjects()
    address = f"/acme/house/_api/release/{ID['released']}/transitions/ReleasedToRequestToExpire?ignoreWarnings=true"
    assert clients["author"].post(address, content_type="application/json").status_code == 200
    [task] = clients["architect"].get("/acme/house/_api/rest/tasks?assignee=all&state=open").json()["values"]
    for name, request in ABOUT_A_TASK.items():
        yield name, request, {TASK: Subject(TASK, "", "", task["id"]), **unknown}
    made = clients["administrator"].post(
        "/acme/house/_api/rest/webhooks", {"url": RECEIVER}, content_type="application/json"
    )
    webhook = made.json()["values"][0]["id"]
    for name, request in ABOUT_A_WEBHOOK.items():
        yield name, request, {WEBHOOK: Subject(WEBHOOK, "", "", webhook), **unknown}


def asked(name: str, title: str, is_quick: bool) -> list[str]:
    """Return the callers that ask: in quick tests those for whom the answer can differ, in long ones all others."""
    quick: Collection[str] = FEW.get(title, ())
    if title == "unknown" and name not in ABOUT_ELEMENTS:
        quick = CALLERS
    return [each for each in CALLERS if (each in quick) is is_quick]


@pytest.mark.parametrize("is_quick", [True, pytest.param(False, marks=pytest.mark.long)], ids=["few", "others"])
def test_the_matrix(clients: dict[str, Client], is_quick: bool) -> None:
    found: dict[str, dict[str, dict[str, int]]] = {}
    for name, request, about in questions(clients):
        for title, subject in about.items():
            row = {each: status(clients[each], request, subject) for each in asked(name, title, is_quick)}
            if row:
                found.setdefault(name, {})[title] = row
    if os.environ.get("WRITE_PERMISSIONS"):
        add(found, [*ABOUT_THE_STORAGE, *ABOUT_ELEMENTS, *ABOUT_A_TASK, *ABOUT_A_WEBHOOK])
    expected = {
        name: {title: {each: row[PLACES[each]] for each in asked(name, title, is_quick)} for title, row in rows.items()}
        for name, rows in read().items()
    }
    assert found == {
        name: given for name, rows in expected.items() if (given := {title: row for title, row in rows.items() if row})
    }


def test_its_page() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read()), "run `make docs`"


def test_every_operation_is_in_it() -> None:
    documented = {each["operationId"] for path in openapi_document()["paths"].values() for each in path.values()}
    plain = set()
    for name in documented:
        for way in OTHER_WAYS:
            name = name.replace(way, "")
        plain.add(name)
    assert {name.partition(",")[0] for name in read()} == plain - ADMINISTRATIVE


def cells() -> Iterator[tuple[str, str, str, int]]:
    for operation, rows in read().items():
        for subject, row in rows.items():
            for caller, code in zip(CALLERS, row, strict=True):
                yield operation, subject, caller, code


def test_unauthenticated_callers_get_401() -> None:
    assert {code for _, _, caller, code in cells() if caller in ("anonymous", "stranger")} == {401}


def test_elements_of_another_storage_look_unknown() -> None:
    for operation, rows in read().items():
        if operation in ABOUT_ELEMENTS:
            assert rows["another storage's"] == rows["unknown"], operation


def test_viewers_only_read_published_versions() -> None:
    for operation, subject, caller, code in cells():
        if caller != "viewer" or subject not in STATES:
            continue
        is_published = subject in ("released", "inEffect", "requestToExpire")
        assert code != 200 or (operation not in WRITING and is_published), (operation, subject)
        assert is_published or code in (403, 404), (operation, subject)


def test_only_authors_and_architects_change_elements_with_an_author() -> None:
    allowed = ("author", "architect", "limited", "administrator")
    changing = {"updateElements", "createContent", "importBpmn", "deleteShape", "deleteElement"}
    for operation, subject, caller, code in cells():
        if operation in changing and subject in STATES and caller in CALLERS and caller not in allowed:
            assert code in (401, 403, 404), (operation, subject, caller)


def test_only_architects_change_architectural_elements() -> None:
    allowed = ("architect", "limited", "administrator")
    for operation, subject, caller, code in cells():
        if operation in WRITING and subject == "architectural" and caller not in allowed:
            assert code != 200, (operation, caller)


def test_only_drafts_can_be_changed() -> None:
    changing = {"updateElements", "createContent", "importBpmn", "deleteShape", "deleteElement"}
    for operation, subject, caller, code in cells():
        if operation in changing and subject in STATES and subject != "inProcess":
            assert code in (401, 403, 404, 409), (operation, subject, caller)


def test_only_administrators_have_webhooks() -> None:
    for operation, subject, caller, code in cells():
        if operation in (*ABOUT_A_WEBHOOK, "listWebhooks", "createWebhook"):
            reads = caller == "reading" and operation in ("listWebhooks", "getWebhook", "listWebhookDeliveries")
            if caller == "administrator" or reads:
                assert code == (404 if subject == "unknown" else 200), operation
            else:
                assert code in (401, 403), (operation, caller)


def test_only_approvers_publish() -> None:
    for operation, subject, caller, code in cells():
        if operation == "applyTransition" and subject == "readyForRelease":
            assert (code == 200) == (caller in ("approver", "architect", "limited", "administrator")), caller


def test_private_content_is_for_administrators_and_the_person() -> None:
    """The author is the user of these operations (D398, D399)."""
    for operation in ("getElement, own roles", "getAttribute, own sign-ins", "listChanges, own"):
        codes = dict(zip(CALLERS, read()[operation][NONE], strict=True))
        assert [caller for caller, code in codes.items() if code == 200] == ["author", "reading", "administrator"], (
            operation
        )
    for operation in ("listElements, by roles", "createPermalink, by roles", "getTypeSchema, of tokens"):
        codes = dict(zip(CALLERS, read()[operation][NONE], strict=True))
        reading = [] if operation.startswith("create") else ["reading"]
        assert [caller for caller, code in codes.items() if code == 200] == [*reading, "administrator"], operation


def test_tokens_that_only_read_change_nothing() -> None:
    for operation, subject, caller, code in cells():
        if caller == "reading" and operation in WRITING:
            assert code in (403, 404), (operation, subject)


def test_other_facets_look_unknown_to_a_token_that_is_limited() -> None:
    place = list(CALLERS).index("limited")
    for operation, rows in read().items():
        if operation in ABOUT_ELEMENTS:
            for subject in ("user", "token", "not for readers"):
                assert rows[subject][place] in (rows["unknown"][place], 403, 404, 422), (operation, subject)


def test_tokens_look_unknown_to_others() -> None:
    for operation, rows in read().items():
        if operation in ABOUT_ELEMENTS:
            for token, unknown in list(zip(rows["token"], rows["unknown"], strict=True))[:-2]:
                # An unknown facet gets 404 before the role is checked.
                assert token in (unknown, 404), operation


def test_what_is_not_for_readers_looks_unknown_to_viewers() -> None:
    place = list(CALLERS).index("viewer")
    for operation, rows in read().items():
        if operation in ABOUT_ELEMENTS:
            assert rows["not for readers"][place] in (rows["unknown"][place], 404), operation
        elif operation.endswith(", not for readers"):
            assert rows[NONE][place] in (400, 404), operation
