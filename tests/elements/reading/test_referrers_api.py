"""Elements that refer to an element, by context (D417 to D419)."""

from __future__ import annotations

from typing import Any

import pytest

from elements.reading import referrers
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.uses_desk import FACETS, ID, referenced_by, use
from tests.factories import token_for

pytestmark = pytest.mark.django_db
CUT, WELD = use("cut", "roles", ("build-2", "cut")), use("weld", "roles", ("build-2", "weld"))
INSPECT = use("inspect", "roles", ("repair-1", "inspect"))
COURSE = use("course-1", "targetRoles")
ACCOUNTABLE = use("weld", "accountable", ("build-2", "weld"))
INFORMED = use("inspect", "informed", ("repair-1", "inspect"))
RELEASED = [INSPECT, WELD, CUT, ACCOUNTABLE, INFORMED, COURSE]
COUNTS = {"roles": 3, "accountable": 1, "informed": 1, "targetRoles": 1}


@pytest.fixture
def editor(uses: Storage) -> str:
    return token_for(uses, Role.EDITOR)


def test_referrers_of_a_role_are_ordered_by_context_process_and_diagram(uses: Storage, api: ApiClient) -> None:
    """A step that refers in two contexts has an entry for each; a training has no diagram."""
    response = api.get(referenced_by("assembler", "role"))
    assert response.json() == {"count": 6, "values": RELEASED, "contexts": COUNTS, "isComplete": True}
    assert list(response.json()["contexts"]) == list(COUNTS)
    address = f"{FACETS}/roles/views/detail/elements/{ID['assembler']}/referencedBy?$page=1&$pageSize=100"
    assert response["X-Total-Count"] == "6"
    assert response["Link"] == f'<{address}>; rel="first", <{address}>; rel="last"'


def test_editors_see_uses_in_the_newest_versions(uses: Storage, api: ApiClient, editor: str) -> None:
    """The steps of replaced versions are not used any more; those of an expired process are its newest version."""
    assert api.get(referenced_by("assembler", "role"), token=editor).json() == {
        "count": 6,
        "values": [
            INSPECT,
            use("new-cut", "roles", ("build-3", "new-cut")),
            use("past", "roles", ("gone-1", "past")),
            use("dream", "roles", ("idea-1", "dream")),
            INFORMED,
            COURSE,
        ],
        "contexts": {"roles": 4, "informed": 1, "targetRoles": 1},
        "isComplete": True,
    }


def test_viewers_cannot_read_the_uses_of_a_draft(uses: Storage, api: ApiClient, editor: str) -> None:
    assert api.get(referenced_by("painter", "role")).status_code == 404
    assert api.get(referenced_by("painter", "role"), token=token_for(uses, Role.VIEWER)).status_code == 404
    found = api.get(referenced_by("painter", "role"), token=editor).json()
    assert found == {"count": 1, "values": [INFORMED], "contexts": {"informed": 1}, "isComplete": True}


def test_an_element_in_several_diagrams_names_all_of_them(uses: Storage, api: ApiClient, editor: str) -> None:
    values = [
        use("check-1", "systems", ("repair-1", "repair-check"), ("build-2", "check")),
        use("cut", "systems", ("build-2", "cut")),
        use("cut", "secondarySystemsInput", ("build-2", "cut")),
    ]
    counts = {"systems": 2, "secondarySystemsInput": 1}
    found = api.get(referenced_by("saw", "system")).json()
    assert found == {"count": 3, "values": values, "contexts": counts, "isComplete": True}
    drafts = use("check-1", "systems", ("repair-1", "repair-check"), ("build-3", "new-check"))
    found = api.get(referenced_by("saw", "system"), token=editor).json()
    assert found == {"count": 1, "values": [drafts], "contexts": {"systems": 1}, "isComplete": True}


def test_a_step_in_the_lane_of_a_role_is_a_use(uses: Storage, api: ApiClient, editor: str) -> None:
    """The context is the first one in which the step could refer to the role (D417)."""
    shown = {"count": 1, "values": [INSPECT], "contexts": {"roles": 1}, "isComplete": True}
    for token in (None, token_for(uses, Role.VIEWER)):
        assert api.get(referenced_by("packer", "role"), token=token).json() == shown
    drafts = use("new-cut", "roles", ("build-3", "new-cut"))
    assert api.get(referenced_by("packer", "role"), token=editor).json()["values"] == [INSPECT, drafts]
    assert api.get(referenced_by("packer", "role", "context=informed")).json() == {**shown, "count": 0, "values": []}


def test_an_element_without_uses_has_an_empty_list(uses: Storage, api: ApiClient) -> None:
    response = api.get(referenced_by("idle", "role"))
    assert response.json() == {"count": 0, "values": [], "contexts": {}, "isComplete": True}
    assert response["X-Total-Count"] == "0"


def test_uses_in_a_facet_that_is_not_for_readers_are_hidden(uses: Storage, api: ApiClient, editor: str) -> None:
    nothing = {"count": 0, "values": [], "contexts": {}, "isComplete": True}
    for token in (None, token_for(uses, Role.VIEWER)):
        assert api.get(referenced_by("measure", "measure"), token=token).json() == nothing
        refused = api.get(referenced_by("measure", "measure", "context=measures"), token=token)
        assert (refused.status_code, refused.json()["message"]) == (
            400,
            "context: 'measures' is not a related context.",
        )
    found = api.get(referenced_by("measure", "measure"), token=editor).json()
    shown = use("risk-1", "measures")
    assert found == {"count": 1, "values": [shown], "contexts": {"measures": 1}, "isComplete": True}


def test_another_storage_has_its_own_uses(uses: Storage, api: ApiClient) -> None:
    found = api.get(referenced_by("assembler", "role", collection="rival")).json()
    names = [each["attributes"]["name"]["1033"] for each in found["values"]]
    assert names == [f"Rival {each['attributes']['name']['1033']}" for each in RELEASED]
    assert found["contexts"] == COUNTS


def test_a_version_id_addresses_the_same_uses(uses: Storage, api: ApiClient) -> None:
    of_element = api.get(referenced_by("assembler", "role")).json()
    assert api.get(referenced_by("assembler-1", "role")).json() == of_element


class TestNarrowing:
    @pytest.mark.parametrize(
        ("context", "values"),
        [
            ("roles", [INSPECT, WELD, CUT]),
            ("Informed, accountable", [ACCOUNTABLE, INFORMED]),
            ("systems", []),
            ("", RELEASED),
        ],
    )
    def test_counts_ignore_the_parameter(
        self, uses: Storage, api: ApiClient, context: str, values: list[object]
    ) -> None:
        response = api.get(referenced_by("assembler", "role", f"context={context}"))
        expected = {"count": len(values), "values": values, "contexts": COUNTS, "isComplete": True}
        assert (response.json(), response["X-Total-Count"]) == (expected, str(len(values)))

    def test_unknown_contexts_are_refused_with_a_hint(self, uses: Storage, api: ApiClient) -> None:
        response = api.get(referenced_by("assembler", "role", "context=rols,changedBy&$pageSize=0"))
        assert (response.status_code, response.json()["data"]) == (
            400,
            [
                {"error": "context: 'rols' is not a related context; similar: roles."},
                {"error": "context: 'changedBy' is not a related context."},
                {"error": "$pageSize: expected a whole number from 1 to 1000, not '0'."},
            ],
        )


class TestPages:
    @pytest.mark.parametrize(("page", "values"), [(1, RELEASED[:4]), (2, RELEASED[4:]), (3, []), (1_000_000_000, [])])
    def test_each_use_is_on_one_page(self, uses: Storage, api: ApiClient, page: int, values: list[object]) -> None:
        response = api.get(referenced_by("assembler", "role", f"$page={page}&$pageSize=4"))
        expected = {"count": len(values), "values": values, "contexts": COUNTS, "isComplete": True}
        assert (response.json(), response["X-Total-Count"]) == (expected, "6")

    def test_links_keep_the_context(self, uses: Storage, api: ApiClient) -> None:
        response = api.get(referenced_by("assembler", "role", "context=roles&$page=2&$pageSize=1"))
        assert response.json()["values"] == [WELD]
        base = f"{FACETS}/roles/views/detail/elements/{ID['assembler']}/referencedBy?context=roles"
        pages = {"first": 1, "prev": 1, "next": 3, "last": 3}
        links = [f'<{base}&$page={page}&$pageSize=1>; rel="{name}"' for name, page in pages.items()]
        assert response["Link"] == ", ".join(links)

    def test_a_list_that_is_not_complete_says_so(
        self, uses: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(referrers, "MOST_READ", 3)
        found = api.get(referenced_by("assembler", "role")).json()
        assert (found["isComplete"], found["count"] <= 4) == (False, True)


def test_a_page_with_too_long_names_is_refused(uses: Storage, api: ApiClient, settings: Any) -> None:
    settings.RESPONSE_BYTES = 3_000
    refused = api.get(referenced_by("assembler", "role"))
    assert (refused.status_code, "would be larger than 3000 bytes" in refused.json()["message"]) == (422, True)
    found = api.get(referenced_by("assembler", "role", "$pageSize=1"))
    assert (found.status_code, found.json()["values"]) == (200, RELEASED[:1])
    settings.RESPONSE_BYTES = 200
    assert api.get(referenced_by("assembler", "role", "$pageSize=1")).status_code == 422


def test_a_client_with_the_current_list_gets_not_modified(uses: Storage, api: ApiClient, editor: str) -> None:
    path = referenced_by("assembler", "role", "context=roles")
    first = api.get(path, token=editor)
    again = api.get(path, token=editor, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    body = {"values": [{"id": ID["dream"], "related": {"roles": []}}]}
    address = f"{FACETS.removeprefix('http://testserver')}/processes/views/detail/elements/"
    changed = api.post(address, body, token=token_for(uses, Role.ARCHITECT), content_type="application/json")
    assert changed.status_code == 200, changed.json()
    after = api.get(path, token=editor, headers={"If-None-Match": first["ETag"]})
    assert after.status_code == 200
    assert after.json()["values"] == first.json()["values"][:-1]


def test_the_view_must_contain_the_element(uses: Storage, api: ApiClient) -> None:
    response = api.get(referenced_by("assembler", "system"))
    assert (response.status_code, response.json()["message"]) == (
        404,
        f"There is no element {ID['assembler']} in the view detail of the facet it.",
    )
