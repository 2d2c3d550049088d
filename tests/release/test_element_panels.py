"""The lifecycle on the page of an element: it offers what the API offers and does what the API does."""

from __future__ import annotations

import re
from typing import Any

import pytest

from elements.models import ElementVersion
from release.models import LifecycleEntry, Task
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, main_text, names_of
from tests.release.house import ID, STATES
from tests.release.stored_contents import fingerprints, rival_of

pytestmark = [pytest.mark.django_db, pytest.mark.long]
NAMES = (*STATES, "order", "house", "anna")


def page_of(name: str, version: str = "") -> str:
    return f"elements/element/{ID[name]}/change/" + (f"?version={ID[version]}" if version else "")


def step_of(name: str) -> str:
    return f"elements/element/{ID[name]}/transition/"


def offered(response: Any) -> list[str]:
    """Return the transitions on a page in their order: those that are applied at once, and those that ask first."""
    return re.findall(r'name="(?:transition|ask)"\s+value="(\w+)"', response.content.decode())


def stored(storage: Storage, version: str) -> ElementVersion:
    with tenant_scope(storage):
        return ElementVersion.objects.get(id=ID.get(version, version))


def apply(office: Office, storage: Storage, name: str, transition: str, **fields: str) -> Any:
    revision = str(stored(storage, f"{name}-1").revision)
    return office.post(step_of(name), {"transition": transition, "revision": revision, **fields})


@pytest.fixture
def office(house: Storage) -> Office:
    return Office(house, Role.ADMINISTRATOR)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.VIEWER])
def test_a_page_offers_exactly_what_the_api_does(house: Storage, role: Role) -> None:
    office = Office(house, role)
    for name in NAMES:
        answer = office.client.get(f"/acme/house/_api/rest/release/{ID[name]}/transitions").json()
        page = office.get(page_of(name))
        assert offered(page) == [each["transitionId"] for each in answer["values"]], name


def test_an_author_is_offered_more_than_another_editor(house: Storage) -> None:
    anna, other = Office(house, Role.EDITOR, user_id=ID["anna"]), Office(house, Role.EDITOR)
    assert offered(anna.get(page_of("inProcess"))) == [
        "InProcessToInReview", "InProcessToReadyForQA", "InProcessToReadyForRelease",
    ]  # fmt: skip
    assert offered(other.get(page_of("inProcess"))) == []
    assert "You cannot take any step now." in main_text(other.get(page_of("inProcess")))


def test_a_step_is_taken_with_its_comment(office: Office, house: Storage) -> None:
    response = apply(office, house, "inProcess", "InProcessToInReview", comment="Please look.\r\nSoon.")
    assert (response.status_code, response["Location"]) == (302, f"{office.base}{page_of('inProcess')}")
    said = office.get(response["Location"]).content.decode()
    assert "Submit for review: done. The state is now “In review”." in said
    text = office.element(ID["inProcess"], tab="lifecycle")
    with tenant_scope(house):
        entry = LifecycleEntry.objects.get(element_id=ID["inProcess"])
    assert (entry.transition, entry.comment) == ("InProcessToInReview", "Please look.\nSoon.")
    assert re.search(
        r"Transition Submit for review version 0\.1 In process → In review staff\d+ Please look\. Soon\.", text
    )


def test_a_release_asks_first_and_is_not_the_highlighted_step(office: Office) -> None:
    page = office.get(page_of("inProcess")).content.decode()
    assert re.findall(r'name="ask"\s+value="(\w+)"', page) == [
        "InProcessToReleased", "InProcessToReleasedQA", "InProcessToReleasedExternal",
    ]  # fmt: skip
    (usual,) = re.findall(r'(?s)<button(?=[^>]*bg-primary)[^>]*value="(\w+)"', page)
    assert usual == "InProcessToInReview"
    text = main_text(office.get(f"{step_of('inProcess')}?transition=InProcessToReleased"))
    assert "All readers will see this version." in text
    assert "which is released now" not in text
    office.post(f"elements/element/{ID['order']}/new-version/", {})
    text = main_text(office.get(f"{step_of('order')}?transition=InProcessToReleased"))
    assert "Version 2.0, which is released now, will expire." in text


def test_a_new_version_is_the_highlighted_step_of_a_released_one(office: Office) -> None:
    """The end of the version is the only transition, and the most drastic step."""
    page = office.get(page_of("released"))
    assert offered(page) == ["ReleasedToRequestToExpire"]
    (usual,) = re.findall(r"(?s)<button(?=[^>]*bg-primary)[^>]*>(.*?)</button>", page.content.decode())
    assert "New version" in usual


@pytest.mark.parametrize(("role", "can_edit"), [(Role.ADMINISTRATOR, True), (Role.EDITOR, False)])
def test_a_step_that_asks_leads_to_the_form(house: Storage, role: Role, can_edit: bool) -> None:
    asked = Office(house, role).get(f"{step_of('inProcess')}?transition=InProcessToReleased")
    form = f'href="/acme/house/admin/elements/element/{ID["inProcess"]}/edit/"'
    assert (form in asked.content.decode()) is can_edit


@pytest.mark.parametrize(
    ("name", "transition", "words"),
    [
        ("inProcess", "InProcessToReleased", "All readers will see this version."),
        ("released", "ReleasedToRequestToExpire", "This creates a task “Approve expiry” for the approver."),
    ],
)
def test_a_comment_is_kept_while_a_step_asks(
    office: Office, house: Storage, name: str, transition: str, words: str
) -> None:
    with tenant_scope(house):
        before = fingerprints(house)
    asked = office.post(step_of(name), {"ask": transition, "comment": "Long\r\nthought about.", "revision": "0"})
    assert (asked.status_code, words in main_text(asked)) == (200, True)
    assert re.search(r">\s*Long\r?\nthought about\.</textarea>", asked.content.decode())
    assert re.search(rf'name="transition" value="{transition}"', asked.content.decode())
    with tenant_scope(house):
        assert fingerprints(house) == before


def test_warnings_are_shown_and_confirmed(office: Office, house: Storage) -> None:
    with tenant_scope(house):
        version = ElementVersion.objects.get(id=ID["inProcess-1"])
        version.attributes = {
            name: values for name, values in version.attributes.items() if name != "reasonForRevision"
        }
        version.save()
        before = fingerprints(house)
    warned = apply(office, house, "inProcess", "InProcessToReleased", comment="Go")
    assert warned.status_code == 422
    text = main_text(warned)
    assert "This step is possible, but there are warnings:" in text
    assert "No reason for the revision is given (Reason for revision)." in text
    assert "Release anyway" in text
    assert ">Go</textarea>" in warned.content.decode()
    with tenant_scope(house):
        assert fingerprints(house) == before
    done = apply(office, house, "inProcess", "InProcessToReleased", comment="Go", ignoreWarnings="true")
    assert done.status_code == 302
    assert stored(house, "inProcess-1").state == "released"
    with tenant_scope(house):
        entry = LifecycleEntry.objects.get(element_id=ID["inProcess"])
    assert entry.comment == "Go"
    assert any("reasonForRevision" in each for each in entry.ignored_warnings)


def test_errors_cannot_be_ignored(office: Office, house: Storage) -> None:
    with tenant_scope(house):
        version = ElementVersion.objects.get(id=ID["inProcess-1"])
        version.attributes = {**version.attributes, "name": {"1031": "Nur deutsch"}}
        version.save()
    response = apply(office, house, "inProcess", "InProcessToReleased", ignoreWarnings="true")
    assert response.status_code == 422
    text = main_text(response)
    assert "The step was not taken:" in text
    assert "No name is given (Name, English)." in text
    assert "anyway" not in text
    assert stored(house, "inProcess-1").state == "inProcess"


def test_a_version_that_changed_meanwhile_is_not_released(office: Office, house: Storage) -> None:
    response = office.post(step_of("inProcess"), {"transition": "InProcessToInReview", "revision": "99"})
    assert response.status_code == 412
    assert "Someone else has changed this element" in main_text(response)
    assert offered(response) == []
    assert stored(house, "inProcess-1").state == "inProcess"


@pytest.mark.parametrize(("transition", "status"), [("ReadyForReleaseToReleased", 409), ("Nonsense", 404), ("", 404)])
def test_transitions_that_are_not_offered_are_refused(
    office: Office, house: Storage, transition: str, status: int
) -> None:
    assert apply(office, house, "inProcess", transition).status_code == status
    assert stored(house, "inProcess-1").state == "inProcess"


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.EDITOR])
def test_callers_without_permission_cannot_release(house: Storage, role: Role) -> None:
    office = Office(house, role)
    assert apply(office, house, "inProcess", "InProcessToReleased", ignoreWarnings="true").status_code == 403
    if role is Role.ANALYZER:
        assert office.post(f"elements/element/{ID['order']}/new-version/").status_code == 403
    assert stored(house, "inProcess-1").state == "inProcess"


def test_a_request_takes_an_end_and_creates_a_task(office: Office, house: Storage) -> None:
    asked = office.get(f"{step_of('released')}?transition=ReleasedToRequestToExpire")
    text = main_text(asked)
    assert "This creates a task “Approve expiry” for the approver." in text
    assert "Local time of the storage (Europe/Berlin)." in text
    response = apply(
        office, house, "released", "ReleasedToRequestToExpire", comment="Outdated", validUntil="2990-01-31T00:00"
    )
    assert response.status_code == 302, main_text(response)
    with tenant_scope(house):
        task = Task.objects.get(element_id=ID["released"])
    assert (task.comment, task.valid_until.isoformat() if task.valid_until else "") == (
        "Outdated", "2990-01-30T23:00:00+00:00",
    )  # fmt: skip
    page = office.get(page_of("released"))
    assert "Request expiry: task “Approve expiry” created." in page.content.decode()
    assert offered(page) == []
    assert "Approve expiry Waiting for" in main_text(page)
    assert f"{office.base}release/task/{task.id}/change/" in page.content.decode()
    assert names_of(office.get("elements/element/?task=open")) == ["released-1"]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("soon", "Enter the end as a date and a time."),
        ("2027-03-28T02:30", "does not exist"),
        ("2001-01-01T00:00", "must be in the future"),
    ],
)
def test_an_invalid_end_is_reported_and_the_input_is_kept(office: Office, house: Storage, end: str, words: str) -> None:
    response = apply(office, house, "released", "ReleasedToRequestToExpire", comment="Why", validUntil=end)
    assert response.status_code == 422
    assert words in main_text(response)
    assert ">Why</textarea>" in response.content.decode()
    assert f'value="{end}"' in response.content.decode()
    with tenant_scope(house):
        assert not Task.objects.exists()


def test_filter_for_elements_with_stuck_tasks(office: Office, house: Storage) -> None:
    apply(office, house, "released", "ReleasedToRequestToExpire")
    apply(office, house, "inEffect", "InEffectToRequestToExpire")
    with tenant_scope(house):
        Task.objects.filter(element_id=ID["inEffect"]).update(requested_on="2020-01-01T00:00Z")
        Task.objects.filter(element_id=ID["released"]).update(assignee_id=ID["ben"])
    assert names_of(office.get("elements/element/?task=stuck")) == ["inEffect-1"]
    assert names_of(office.get("elements/element/?task=open")) == ["inEffect-1", "released-1"]
    assert names_of(office.get("elements/element/?task=nonsense")) == []
    assert "Open for" in main_text(office.get(page_of("inEffect")))


def test_a_new_version_is_created_where_possible(office: Office, house: Storage) -> None:
    new_version = f"{office.base}elements/element/{ID['order']}/new-version/"
    assert f'action="{new_version}"' in office.get(page_of("order")).content.decode()
    response = office.post(f"elements/element/{ID['order']}/new-version/")
    assert response["Location"] == f"{office.base}{page_of('order')}"
    page = office.get(page_of("order"))
    assert "order-2 Sub process In process Version 2.1" in main_text(page)
    assert f'action="{new_version}"' not in page.content.decode()
    again = office.client.post(f"{office.base}elements/element/{ID['order']}/new-version/", follow=True)
    assert "already has an open version" in again.content.decode()


def test_an_expired_version_can_be_copied(office: Office, house: Storage) -> None:
    assert "New version" in main_text(office.get(page_of("order", "order-1")))
    office.post(f"elements/element/{ID['order']}/new-version/?version={ID['order-1']}")
    assert "order-1 Sub process In process Version 2.1" in main_text(office.get(page_of("order")))


def test_callers_without_permission_cannot_create_versions(house: Storage) -> None:
    for role in (Role.ANALYZER, Role.APPROVER):
        office = Office(house, role)
        assert "New version" not in main_text(office.get(page_of("order")))
        assert office.post(f"elements/element/{ID['order']}/new-version/").status_code == 403
    assert Office(house, Role.EDITOR).get(f"elements/element/{ID['order']}/new-version/").status_code == 302


def test_steps_stay_in_their_tenant(office: Office, house: Storage) -> None:
    rival = rival_of(house)
    with tenant_scope(rival):
        before = fingerprints(rival)
    assert apply(office, house, "inProcess", "InProcessToInReview").status_code == 302
    office.post(f"elements/element/{ID['order']}/new-version/")
    with tenant_scope(rival):
        assert fingerprints(rival) == before
    stranger = Office(rival, Role.ADMINISTRATOR)
    assert "In process Version 0.1" in main_text(stranger.get(page_of("inProcess")))
    assert stranger.post(f"/acme/house/admin/{step_of('inProcess')}", {"transition": "x"}).status_code == 404
