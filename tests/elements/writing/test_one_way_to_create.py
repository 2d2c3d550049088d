"""New elements pass the same checks, whether a request names them, describes them in a reference or draws them (D203)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import ID, write_lines
from tests.elements.update_desk import Body, UpdateDesk, extended_template, order
from tests.factories import token_for

pytestmark = pytest.mark.django_db
ADMINISTRATOR: Body = {
    "type": "user",
    "attributes": {"name": {"1033": "Mallory"}, "roleEditor": {"127": True}, "firstName": {"127": "M"}},
}
ROLE = "only administrators can change roleEditor; this needs the role administrator."
TOKEN = "elements of type authToken are created by issuing a token."


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("creating")
    file = folder / "template.json"
    plain = extended_template()
    for name in ("owner", "author"):
        plain["properties"][name]["related"]["canAddNew"] = True
    file.write_text(json.dumps(plain), encoding="utf-8")
    fields = {"key": "handbook", "template": str(file), "time_zone": "Europe/Berlin"}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def related(**contexts: Any) -> Body:
    return order(related=contexts)


def place(context: str, index: int = 0) -> str:
    return f"elements[0] {ID['order-3']}: {context}[{index}]"


def test_roles_of_a_user_in_a_reference_are_for_administrators(desk: UpdateDesk) -> None:
    for context in ("owner", "watchers"):
        desk.refuse(403, [related(**{context: [ADMINISTRATOR]})], f"{place(context)}: {ROLE}", token=desk.architect)
    desk.refuse(403, [ADMINISTRATOR], f"elements[0]: {ROLE}", token=desk.architect, facet="users")
    plain = {"type": "user", "attributes": {"name": {"1033": "Nora"}}}
    [made] = desk.update(related(owner=[plain]), token=desk.architect)
    assert [each["type"] for each in made["related"]["owner"]] == ["user"]


def test_administrators_create_users_with_roles_in_a_reference(desk: UpdateDesk) -> None:
    administrator = token_for(desk.storage, Role.ADMINISTRATOR, Role.ARCHITECT)
    [made] = desk.update(related(owner=[ADMINISTRATOR]), token=administrator)
    user = desk.read(made["related"]["owner"][0]["id"], facet="users", token=administrator)
    assert user["attributes"]["roleEditor"] == {"127": True}


def test_the_element_of_a_token_cannot_be_described_in_a_reference(desk: UpdateDesk) -> None:
    token = {"type": "authToken", "attributes": {"name": {"1033": "Nightly"}, "roleEditor": {"127": True}}}
    desk.refuse(422, [related(author=[token])], f"{place('author')}: {TOKEN}", token=desk.architect)


def test_the_facet_of_a_new_target_is_checked(desk: UpdateDesk) -> None:
    wrong = {**ADMINISTRATOR, "facetName": "it", "attributes": {"name": {"1033": "Nora"}}}
    desk.refuse(
        422,
        [related(owner=[wrong])],
        f"{place('owner')}: elements of type user are in the facet users.",
        token=desk.architect,
    )


def test_all_problems_of_new_targets_are_reported_with_their_place(desk: UpdateDesk) -> None:
    token = {"type": "authToken", "attributes": {"name": {"1033": "Nightly"}}}
    wrong = {**ADMINISTRATOR, "attributes": {**ADMINISTRATOR["attributes"], "naem": {"1033": "Typo"}}}
    desk.refuse(
        403,
        [related(watchers=[ADMINISTRATOR, wrong], author=[token])],
        f"{place('watchers')}: {ROLE}",
        f"{place('watchers', 1)}: naem: the type user has no such attribute; similar: name.",
        f"{place('watchers', 1)}: {ROLE}",
        f"{place('author')}: {TOKEN}",
        token=desk.architect,
    )
