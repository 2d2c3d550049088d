"""The demo looks alive (D430): its people have worked in the last weeks, and the log explains every state (D431)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from elements.models import ElementVersion
from elements.transfer.exporting import export_lines
from elements.transfer.importing import import_elements
from facets.configuration import configuration_of
from release.demo import story
from release.demo.telling import StoryTeller, fill_demo, read_people
from release.models import LifecycleEntry, Task
from release.releases import recent, releases
from release.tasks.approvers import read_approving_users
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.models import AnonymousAccess, Event, EventType, Storage, StorageMembership
from storage.provisioning.provision import remove_storage
from storage.tenancy.contexts import storage_at
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.reader_page import read_page
from tests.elements.transfer_files import DEMO
from tests.factories import StorageFactory
from tests.filled_storages import NOTHING
from tests.release.log_check import Replay, check_lifecycles
from tests.release.stored_contents import contents, fresh

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.on_cluster]
Step = LifecycleEntry.Step


@pytest.fixture(scope="module")
def told(filled_storage: StorageMaker, django_db_blocker: DjangoDbBlocker) -> Iterator[Storage]:
    """A storage with the content of the demo and its story."""
    fields = {"collection": "demo", "key": "told", "template": "standard", "time_zone": "Europe/Berlin"}
    with filled_storage(NOTHING, **fields, anonymous=AnonymousAccess.READ) as storage:
        with django_db_blocker.unblock():
            fill_demo(storage, str(DEMO))
        yield storage


@pytest.fixture
def scope(told: Storage) -> Iterator[None]:
    with tenant_scope(told):
        yield


def names(elements: Any) -> list[str]:
    versions = ElementVersion.objects.filter(element_id__in=elements).order_by("element_id", "major", "minor")
    found = {each.element_id: each.attributes["name"]["1033"] for each in versions}
    return [found[each] for each in elements]


def days_from_now(moment: datetime) -> int:
    """Return the number of days in the calendar of the storage."""
    zone = ZoneInfo("Europe/Berlin")
    return (moment.astimezone(zone).date() - timezone.now().astimezone(zone).date()).days


def test_the_log_explains_every_state(told: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Replay.check_step

    def check_step(self: Replay, each: LifecycleEntry, category: Any) -> None:
        # The release cycle of the template has no step into the state inEffect of four imported versions.
        if each.step != Step.EFFECT:
            check(self, each, category)

    monkeypatch.setattr(Replay, "check_step", check_step)
    check_lifecycles(told)
    with tenant_scope(told):
        last = {each.version_id: each for each in LifecycleEntry.objects.order_by("element_id", "number")}
        versions = ElementVersion.objects.exclude(major=None)
        unlogged = {each.state for each in versions if each.id not in last}
        assert {each.id: each.state for each in versions if each.id in last} == {
            version: entry.to_state for version, entry in last.items()
        }
        assert unlogged == {"inProcess"}, "new elements that nobody has submitted"
        assert not LifecycleEntry.objects.filter(changed_on__gt=timezone.now()).exists()


@pytest.mark.parametrize(
    ("lcid", "intro", "first"), [(1031, "Das Prozesshaus", "Prozesse"), (1033, "The process house", "Processes")]
)
def test_the_start_page_welcomes_readers_in_their_language(told: Storage, lcid: int, intro: str, first: str) -> None:
    page = read_page(Client().get(f"/demo/told/{lcid}/").content.decode())
    assert any(line.startswith(intro) for line in page.lines)
    menu = [text for text, address in page.links if re.fullmatch(rf"/demo/told/{lcid}/\w+/", address)]
    assert menu[0] == first
    assert not {"Languages", "Stereotypes", "Sprachen", "Stereotype"} & set(menu)


@pytest.mark.usefixtures("scope")
def test_versions_of_the_file_keep_their_states_but_those_that_the_story_ends() -> None:
    lines = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    wanted = {line["versionId"]: line["state"] for line in lines if line.get("state") and "versionId" in line}
    found = {str(each.id): each for each in ElementVersion.objects.filter(id__in=[*wanted])}
    assert found.keys() == wanted.keys()
    changed = {each: found[each] for each, state in wanted.items() if found[each].state != state}
    revised = {act.element for act in story.RELEASES}
    expired = {str(each.element_id) for each in changed.values() if each.state == "expired"}
    assert expired == revised
    ended = {str(each.element_id) for each in changed.values() if each.state != "expired"}
    assert ended == {story.AUDIT_COURSE, story.PRIVACY_COURSE, story.FACTORY_SHOP}
    assert {found[each].state for each in changed} == {"expired", "requestToExpire"}


@pytest.mark.usefixtures("scope")
def test_everybody_who_can_approve_has_an_open_task() -> None:
    tasks = list(Task.objects.filter(state=Task.State.OPEN))
    approvers = {each.id for each in read_approving_users()}
    labels = {person: caller.label for person, caller in read_people().items()}
    assert sorted(labels[each] for each in approvers) == [
        "Managing director",
        "Process architect",
        "Process manager corporate services",
        "Process manager development",
        "Process manager production",
        "Process manager sales and service",
        "Process manager supply chain",
        "Quality manager",
        "Repository administrator",
    ]
    assert approvers <= {each.assignee_id for each in tasks}
    assert {each.type for each in tasks} == {"Review", "Quality assurance", "Approve release", "Approve expiry"}
    due = sorted(days_from_now(each.due_on) for each in tasks if each.due_on)
    assert due[:4] == [-2, -1, 1, 1], "two are overdue, and two are due tomorrow"
    stuck = sorted((*names([each.element_id]), *each.stuck_reasons) for each in tasks if each.stuck_reasons)
    assert stuck == [
        ("Glossary of bicycle terms", "approverLacksRole"),
        ("Manufacturing execution system", "overdue"),
        ("Serve customers", "overdue"),
        ("Ticket system", "overdue"),
    ]


@pytest.mark.usefixtures("scope")
def test_people_have_decided_tasks_with_comments() -> None:
    decided = Task.objects.exclude(state=Task.State.OPEN)
    assert not decided.filter(decision="").exists()
    lately = decided.filter(decided_on__gt=timezone.now() - timedelta(days=21))
    states = [Task.State(each.state) for each in lately]
    assert (states.count(Task.State.ACCEPTED), states.count(Task.State.REJECTED)) == (21, 2)
    for each in decided:
        assert each.decided_on is not None
        assert each.requested_on < each.decided_on, each.comment


@pytest.mark.usefixtures("scope")
def test_releases_of_the_last_weeks(told: Storage) -> None:
    now, zone = timezone.now(), ZoneInfo(told.time_zone)
    found = releases(recent(LifecycleEntry.objects.all(), now, zone), configuration_of(told)).order_by("-changed_on")
    # The file has one more, whose date is fixed.
    own = [each for each in found if each.version != "1.0"]
    assert names([each.element_id for each in own]) == [
        "Torque table", "Complaint form", "Forklift licence", "Test frame on the rig", "Days of stock",
        "ERP system outage", "Occupational safety", "Test laboratory", "Interview guide",
        "Service centre Beispielhausen", "Design engineer", "Painting instruction", "Purchasing policy",
    ]  # fmt: skip
    assert [days_from_now(each.changed_on) for each in own][1:4] == [-2, -4, -6]
    events = Event.objects.filter(type=EventType.VERSION_RELEASED, caller_id__isnull=False).order_by("-time")
    assert [(each.subject_id, each.version_id) for each in events] == [
        (each.element_id, each.version_id) for each in own
    ]
    newest = ElementVersion.objects.get(id=own[0].version_id)
    text = "Carbon seat posts: 4 Nm with assembly paste."
    assert newest.attributes["reasonForRevision"]["1033"] == text
    assert newest.attributes["description"]["1033"].endswith(f"</table><p>{text}</p>")


@pytest.mark.usefixtures("scope")
def test_a_version_expires_and_has_a_successor() -> None:
    steps = LifecycleEntry.objects.filter(element_id=story.FORKLIFT_LICENCE).order_by("number")
    assert [(each.version, each.step, each.to_state, each.caller_label) for each in steps] == [
        ("0.1", "transition", "readyForRelease", "Process manager supply chain"),
        ("1.0", "transition", "released", "Quality manager"),
        ("1.0", "request", "released", "Process manager supply chain"),
        ("1.0", "transition", "requestToExpire", "Managing director"),
        ("1.0", "expiry", "expired", "run_lifecycle"),
        ("1.1", "version", "inProcess", "Process manager supply chain"),
        ("1.1", "transition", "readyForRelease", "Process manager supply chain"),
        ("2.0", "transition", "released", "Quality manager"),
    ]


@pytest.mark.usefixtures("scope")
def test_versions_end_soon() -> None:
    now = timezone.now()
    soon = ElementVersion.objects.filter(category="published", valid_until__range=(now, now + timedelta(days=60)))
    found = list(soon.order_by("valid_until"))
    assert names([each.element_id for each in found]) == [
        "Data protection in everyday work",
        "Factory shop",
        "Conducting internal audits",
    ]
    assert [days_from_now(each.valid_until) for each in found if each.valid_until] == [12, 27, 45]


@pytest.mark.usefixtures("scope")
@pytest.mark.parametrize("time", ["00:03", "09:00", "12:30", "23:58"])
def test_acts_are_in_order_and_in_the_past_at_any_time_of_the_setup(told: Storage, time: str) -> None:
    now = datetime.fromisoformat(f"2026-10-26T{time}:00+01:00")
    moments = [StoryTeller(told, now).moment(act.days) for act in story.story()]
    assert moments == sorted(moments)
    assert moments[-1] < now


def test_a_second_run_of_the_demo_changes_nothing(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    said = [StringIO(), StringIO()]
    call_command("demo", "--no-serve", stdout=said[0], stderr=StringIO())
    storage = storage_at("demo", "showcase")
    before = contents(storage)
    call_command("demo", "--no-serve", stdout=said[1], stderr=StringIO())
    assert contents(storage) == before
    assert said[0].getvalue() == said[1].getvalue()
    members = StorageMembership.objects.filter(storage=storage).values_list("account__username", "user_id", "roles")
    assert list(members) == [("admin", UUID(story.QUALITY), ["administrator"])]
    with tenant_scope(storage):
        created = Event.objects.filter(type=EventType.ELEMENT_CREATED).order_by("time")
        oldest = created[0].time
        assert timedelta(days=74) < timezone.now() - oldest < timedelta(days=storage.event_days), "kept, but not news"
        assert not Event.objects.filter(time__gt=timezone.now()).exists()


def test_a_told_storage_is_backed_up_restored_and_exported(told: Storage, tmp_path: Path) -> None:
    before, exported = contents(told), list(export_lines(told))
    path = tmp_path / "told.backup"
    back_up_storage(told, path)
    remove_storage(fresh(told))
    restored = restore_storage(path).storage
    assert contents(restored) == before
    assert list(export_lines(restored)) == exported
    lines = tmp_path / "told.ndjson"
    lines.write_bytes(b"".join(exported))
    copy = StorageFactory.create(collection="demo", key="copy", template="standard", time_zone="Europe/Berlin")
    import_elements(copy, str(lines))
    assert list(export_lines(copy)) == exported


def test_people_work_in_a_generated_storage(other_storage: Storage) -> None:
    before = contents(other_storage)
    call_command("sample_storage", "demo", "sample", "150", stderr=StringIO())
    call_command("sample_storage", "demo", "plain", "150", "--plain", stderr=StringIO())
    sample, plain = storage_at("demo", "sample"), storage_at("demo", "plain")
    check_lifecycles(sample)
    with tenant_scope(sample):
        tasks = Task.objects.order_by("element_id")
        assert [(each.type, each.state, each.decision) for each in tasks] == [
            ("Approve release", "open", ""),
            ("Approve release", "accepted", "Approved."),
            ("Approve release", "accepted", "Approved."),
        ]
        versions = ElementVersion.objects.filter(element_id__in=[each.element_id for each in tasks])
        found = [(each.major, each.minor, each.state) for each in versions.order_by("element_id", "major", "minor")]
        released = [(1, 0, "expired"), (2, 0, "released")]
        assert found == [(1, 0, "released"), (1, 1, "readyForRelease"), *released, *released]
        assert len(read_approving_users()) == 5
    with tenant_scope(plain):
        assert not LifecycleEntry.objects.exists()
    assert contents(other_storage) == before
