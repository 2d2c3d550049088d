"""Concurrent callers of a real server with two workers (D18, D21, D23, D95).

Of callers who race for a step one succeeds, nothing changes a version after its release, and the log matches the stored
versions. One server serves all tests of the module, and each test creates its own content. After every round the
lifecycles of both storages are replayed, and no response may be a server error.
"""

from __future__ import annotations

import http.client
import itertools
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tests.clustered_server import loaded_server
from tests.load_client import LoadResponse, statuses, together
from tests.release.house import ID, write_template
from tests.release.load_house import API, CALLERS, CLOCK, PROCESSES, Body, ServedHouse, at_once, run, served_house, tell
from tests.release.story import Story
from tests.release.story import tell as tell_story
from tests.release.witness import Reply, WireCaller
from tests.scale import IS_FULL, only_at_full_scale
from tests.server_process import DataFolders, Server

pytestmark = [pytest.mark.server, pytest.mark.long, pytest.mark.on_cluster, pytest.mark.own_cluster]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Server]:
    with loaded_server(tmp_path_factory.mktemp("load"), data_folders) as server:
        yield server


@pytest.fixture(scope="module")
def house(server: Server) -> Iterator[ServedHouse]:
    with served_house(server, write_template(server.data_dir.parent / "template.json")) as house:
        yield house


@only_at_full_scale
def test_the_life_of_a_sub_process(house: ServedHouse) -> None:
    """The story of `story.py` over real connections, with alternating prefixes."""
    connection = http.client.HTTPConnection("127.0.0.1", house.server.port, timeout=60)

    def send(method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Reply.of(response.status, response.read(), response.getheader("ETag"))

    people = {name: WireCaller(send, *token) for name, token in house.tokens.items()}
    people["rival"].storage = "rival/house"
    base = f"http://127.0.0.1:{house.server.port}{API}"
    try:
        tell_story(Story(people, base, turn=1, is_thorough=True), lambda: None)
    finally:
        connection.close()
    house.check()


# From the first draft; many callers race for each step.
LIFE = (
    "InProcessToInReview", "InReviewToInProcess", "InProcessToReadyForQA", "ReadyForQAToReadyForRelease",
    "ReadyForReleaseToInProcess", "InProcessToReleased", "createversion", "InProcessToReadyForRelease",
    "ReadyForReleaseToReleased", "ReleasedToRequestToExpire", "accept", "createversion", "InProcessToReleasedExternal",
    "createversion",
)  # fmt: skip
# For an imported version whose owner is Ben.
IMPORTED_LIFE = (
    "InProcessToReadyForQA", "ReadyForQAToInProcess", "InProcessToInReview", "InReviewToReadyForQA",
    "ReadyForQAToReadyForRelease", "ReadyForReleaseToReleased", "createversion", "InProcessToReleasedQA",
    "ReleasedToRequestToExpire", "createversion", "InProcessToReleased", "createversion",
)  # fmt: skip
OUT_OF_DRAFT = [f"InProcessTo{target}" for target in
                ("InReview", "ReadyForQA", "ReadyForRelease", "Released", "ReleasedQA", "ReleasedExternal")]  # fmt: skip


@pytest.mark.parametrize(
    "life",
    [pytest.param(LIFE, id="made"), pytest.param(IMPORTED_LIFE, id="imported", marks=only_at_full_scale)],
)
def test_one_of_fifty_concurrent_callers_takes_a_step(house: ServedHouse, life: Sequence[str]) -> None:
    """By the id of the element or of the version, through either prefix."""
    element, version = house.processes("Wanted", 1)[0] if life is LIFE else (ID["inProcess"], ID["inProcess-1"])
    for place, step in enumerate(life):
        # Usually a few callers race for two of three steps, which is enough to find errors.
        callers = CALLERS if IS_FULL or place % 3 == 0 else 8
        if step == "accept":
            task = house.open_task(element)
            calls = [partial(house.callers[name].decide, task, step) for name in ("ben", "dora", "cora")]
        else:
            calls = [
                partial(house.architect.step, id, step, prefix)
                for id, prefix in itertools.product((element, version), ("release", "rest/release"))
            ]
        answers = at_once(list(itertools.islice(itertools.cycle(calls), callers)))
        assert statuses(answers) == {200: 1, 409: callers - 1}, step
        if step == "createversion":
            [version] = [each.element["versionId"] for each in answers if each.status == 200]
        house.check()
    taken = [each for each in house.steps(element) if each["step"] in ("version", "transition", "request")]
    wanted = ["ReleasedToRequestToExpire" if step == "accept" else step for step in life]
    assert [each.get("transitionId", "createversion") for each in taken] == wanted


def test_one_of_several_concurrent_transitions_succeeds(house: ServedHouse) -> None:
    drafts = house.processes("Contested", 8)
    calls = [partial(house.architect.step, version, step) for _, version in drafts for step in OUT_OF_DRAFT]
    answers = at_once(calls)
    for place, (element, _) in enumerate(drafts):
        own = answers[place * len(OUT_OF_DRAFT) : (place + 1) * len(OUT_OF_DRAFT)]
        assert statuses(own) == {200: 1, 409: len(OUT_OF_DRAFT) - 1}
        [taken] = [answer.element["state"] for answer in own if answer.status == 200]
        assert house.states(element) == [taken]
    house.check()


def revised(house: ServedHouse, name: str, count: int) -> list[tuple[str, str, str]]:
    """Create elements with a published version and a draft; return all ids."""
    made = house.processes(name, count)
    drafts = together([partial(house.take, element, "InProcessToReleased", "createversion") for element, _ in made])
    return [(*each, draft["versionId"]) for each, draft in zip(made, drafts, strict=True)]


def by_element(answers: Sequence[LoadResponse], count: int) -> list[Sequence[LoadResponse]]:
    """Group responses by element."""
    return [answers[place : place + count] for place in range(0, len(answers), count)]


def test_a_new_version_against_the_release_of_the_one_before(house: ServedHouse) -> None:
    elements, outcomes = revised(house, "Revised", 8), Counter[int]()
    calls: list[Callable[[], LoadResponse]] = []
    for element, _, draft in elements:
        calls += [partial(house.architect.step, draft, "InProcessToReleased")] * 3
        calls += [partial(house.architect.step, element, "createversion")] * 3
    for (element, *_), answers in zip(elements, by_element(at_once(calls), 6), strict=True):
        releases, versions = answers[:3], answers[3:]
        assert statuses(releases) == {200: 1, 409: 2}
        made = [each.element for each in versions if each.status == 200]
        assert statuses(versions) == Counter({200: len(made), 409: 3 - len(made)})
        # A new version can only be created after the release.
        assert house.states(element) == ["expired", "released", "inProcess"][: 2 + len(made)]
        assert [each["attributes"]["version"] for each in made] == [{"127": "2.1"}] * len(made)
        outcomes[len(made)] += 1
    assert outcomes.keys() <= {0, 1}
    house.check()


def test_a_draft_is_deleted_or_released(house: ServedHouse) -> None:
    fresh = [(version, ["inProcess"]) for _, version in house.processes("Deleted", 4)]
    later = [(draft, ["released", "inProcess"]) for _, _, draft in revised(house, "Discarded", 4)]
    calls: list[Callable[[], LoadResponse]] = []
    for draft, _ in fresh + later:
        calls += [partial(house.architect.step, draft, "InProcessToReleased")] * 3
        calls += [partial(house.architect.call, "DELETE", f"{PROCESSES}/{draft}")] * 3
    for (draft, _), answers in zip(fresh + later, by_element(at_once(calls), 6), strict=True):
        is_released = 200 in statuses(answers[:3])
        assert statuses(answers) == ({200: 1, 409: 5} if is_released else {200: 1, 404: 5})
        assert house.architect.read(draft).status == (200 if is_released else 404)
    house.check()


class Edits:
    """Concurrent edits of a draft while another caller releases it."""

    def __init__(self, house: ServedHouse, element: str, version: str) -> None:
        self.house, self.element, self.version = house, element, version
        self.tasks = [each["id"] for each in house.architect.content(version)]
        self.numbers = itertools.count()
        self.released_at = float("inf")
        self.done: list[tuple[str, float, LoadResponse, str]] = []
        self.drawn: list[str] = []

    def until_released(self, kind: str, change: Callable[[str], LoadResponse]) -> None:
        """Repeat an edit until the release, and a few times after it."""
        late = 0
        while late < 3:
            text, sent = f"{kind} {next(self.numbers)}", time.monotonic()
            answer = change(text)
            assert answer.status in (200, 404, 409), answer
            self.done.append((kind, sent, answer, text))
            late += sent > self.released_at

    def rename(self, text: str) -> LoadResponse:
        return self.house.architect.rename(random.choice(self.tasks), text)

    def rename_with_owner(self, text: str) -> LoadResponse:
        task = {"id": random.choice(self.tasks), "attributes": {"name": {"1033": text}}}
        owner = {"versionId": self.version, "attributes": {"purp": {"1033": text}}}
        return self.house.architect.update(owner, task)

    def draw(self, text: str) -> LoadResponse:
        answer = self.house.architect.draw(self.version, text)
        if answer.status == 200:
            self.drawn.append(answer.body["values"][0]["id"])
        return answer

    def erase(self, text: str) -> LoadResponse:
        """Remove a shape that was drawn meanwhile, or an unknown one."""
        shape = self.drawn.pop() if self.drawn else ID["house"]
        return self.house.architect.call("POST", f"{PROCESSES}/{self.version}/content/{shape}/delete")

    def release(self, after: int) -> tuple[Body, list[Body]]:
        """Release after some changes; return the version and its diagram right after it."""
        while len(self.done) < after:
            time.sleep(0.001)
        released = self.house.architect.step(self.version, "InProcessToReleased")
        self.released_at = time.monotonic()
        return released.element, self.house.architect.content(self.version)


def test_no_edit_changes_a_released_version(house: ServedHouse) -> None:
    """Each edit of the version or its diagram happens before the release or fails."""
    made = house.processes("Busy", 5)
    for _, version in made:
        assert house.architect.draw(version, "One", "Two", "Three").status == 200
    every = [Edits(house, *each) for each in made]
    kinds = ("rename", "rename", "rename_with_owner", "draw", "erase")
    with ThreadPoolExecutor(len(every) * (len(kinds) + 1)) as pool:
        writers = [pool.submit(each.until_released, kind, getattr(each, kind)) for each in every for kind in kinds]
        releases = [pool.submit(each.release, 4 * place) for place, each in enumerate(every)]
        frozen = [each.result() for each in releases]
        for writer in writers:
            writer.result()
    for edits, (element, content) in zip(every, frozen, strict=True):
        check_edits(house, edits, element, content)
    house.check()
    # Every caller locks a diagram before its elements, whatever the order of their ids.
    assert house.server.deadlocks() == []


def check_edits(house: ServedHouse, edits: Edits, element: Body, content: list[Body]) -> None:
    assert house.architect.content(edits.version) == content
    assert house.architect.read(edits.version).element == element
    late = Counter(answer.status for _, sent, answer, _ in edits.done if sent > edits.released_at)
    assert late.keys() == {409}
    made = [(kind, answer, text) for kind, _, answer, text in edits.done if answer.status == 200]
    drawn, erased = (sum(kind == each for kind, *_ in made) for each in ("draw", "erase"))
    assert len(content) == 3 + drawn - erased
    renamed = {text for kind, _, text in made if kind.startswith("rename")}
    released = element["attributes"]["relOn"]["127"]
    recorded = []
    for task, shown in zip(edits.tasks, content, strict=False):
        changes = house.architect.call("GET", f"{PROCESSES}/{task}/history?$pageSize=1000").body["values"]
        updates = [each for each in changes if each["action"] == "updated"]
        assert all(moment(each["changedOn"]) < moment(released) for each in updates)
        names = [each["after"]["attributes"]["name[1033]"] for each in updates]
        assert shown["attributes"]["name"]["1033"] == next(iter(names), shown["attributes"]["name"]["1033"])
        recorded += names
    assert sorted(recorded) == sorted(renamed)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_one_of_concurrent_accept_reject_and_withdraw_succeeds(house: ServedHouse) -> None:
    made = house.processes("Decided", 8)
    steps = ("InProcessToReleased", "ReleasedToRequestToExpire")
    together([partial(house.take, element, *steps) for element, _ in made])
    tasks = [house.open_task(element) for element, _ in made]
    ways = (("ben", "accept"), ("dora", "reject"), ("architect", "withdraw"),
            ("cora", "accept"), ("cora", "reject"), ("cora", "withdraw"))  # fmt: skip
    calls = [partial(house.callers[name].decide, task, decision) for task in tasks for name, decision in ways]
    for (element, _), answers in zip(made, by_element(at_once(calls), len(ways)), strict=True):
        assert statuses(answers) == {200: 1, 409: len(ways) - 1}
        [(decision, task)] = [
            (way, answer.body["values"][0])
            for (_, way), answer in zip(ways, answers, strict=True)
            if answer.status == 200
        ]
        assert task["state"] == {"accept": "accepted", "reject": "rejected", "withdraw": "withdrawn"}[decision]
        assert house.architect.call("GET", f"{API}/rest/tasks/{task['id']}").body["values"] == [task]
        assert house.states(element) == ["expired" if decision == "accept" else "released"]
    house.check()


def test_a_request_is_accepted_or_made_obsolete_by_a_newer_release(house: ServedHouse) -> None:
    elements = revised(house, "Overtaken", 8)
    together([partial(house.take, version, "ReleasedToRequestToExpire") for _, version, _ in elements])
    tasks = [house.open_task(element) for element, _, _ in elements]
    calls: list[Callable[[], LoadResponse]] = []
    for (_, _, draft), task in zip(elements, tasks, strict=True):
        calls += [partial(house.callers[name].decide, task, "accept") for name in ("ben", "cora", "dora")]
        calls += [partial(house.architect.step, draft, "InProcessToReleased")] * 3
    for (element, *_), task, answers in zip(elements, tasks, by_element(at_once(calls), 6), strict=True):
        consents, releases = answers[:3], answers[3:]
        assert statuses(releases) == {200: 1, 409: 2}
        is_accepted = 200 in statuses(consents)
        assert statuses(consents) == ({200: 1, 409: 2} if is_accepted else {409: 3})
        [stored] = house.architect.call("GET", f"{API}/rest/tasks/{task}").body["values"]
        assert stored["state"] == ("accepted" if is_accepted else "obsolete")
        assert house.states(element) == ["expired", "released"]
        ended = [each["step"] for each in house.steps(element)][-3:]
        assert ended == (
            ["transition", "expiry", "transition"] if is_accepted else ["request", "transition", "succession"]
        )
    house.check()


def strike(clock: subprocess.Popen[str], *options: str) -> list[tuple[str, str]]:
    """Run the scheduled jobs once; return the reported changes."""
    said, done = tell(clock, " ".join(options)), []
    while said != "done":
        storage, what, which = said.split(": ")
        assert storage == "acme/house"
        done.append((what, which.split(",")[0]))
        assert clock.stdout is not None
        said = clock.stdout.readline().rstrip("\n")
    return done


# Steps before the end of a version, and steps during it.
WAYS = (
    (("InProcessToReleased",), ("createversion", "ReleasedToRequestToExpire")),
    (("InProcessToReleased", "ReleasedToRequestToExpire"), ("accept", "createversion")),
    (("InProcessToReleased", "createversion"), ("InProcessToReleased", "createversion")),
)


def test_two_concurrent_runs_of_the_scheduled_jobs(house: ServedHouse) -> None:
    """Each due version ends once, by a scheduled job, by an accepted task or by a newer release."""
    clocks = [run(house.server, CLOCK) for _ in range(2)]
    try:
        assert [strike(clock, "--dry-run") for clock in clocks] == [[], []]
        for number in range(3 if IS_FULL else 1):
            race_the_clock(house, clocks, number)
        assert [strike(clock) for clock in clocks] == [[], []]
    finally:
        for clock in clocks:
            clock.communicate(timeout=60)
    assert [clock.returncode for clock in clocks] == [0, 0]


def race_the_clock(house: ServedHouse, clocks: Sequence[subprocess.Popen[str]], number: int) -> None:
    made = list(zip(house.processes(f"Ending {number}", 12), itertools.cycle(WAYS), strict=False))
    together([partial(house.take, element, *steps) for (element, _), (steps, _) in made])
    tasks = {element: house.open_task(element) for (element, _), (_, actions) in made if "accept" in actions}
    house.end(*(version for (_, version), _ in made))

    def act(element: str, action: str) -> LoadResponse:
        return house.ben.decide(tasks[element], action) if action == "accept" else house.architect.step(element, action)

    def strike_amid(clock: subprocess.Popen[str]) -> list[tuple[str, str]]:
        """Start in the middle of the other calls; without a server connection it would be first."""
        time.sleep(random.uniform(0, 0.2))
        return strike(clock)

    calls: list[Callable[[], Any]] = [partial(strike_amid, clock) for clock in clocks]
    calls += [partial(act, element, action) for (element, _), (_, actions) in made for action in actions]
    done = at_once(calls)
    assert statuses(done[2:]).keys() <= {200, 409}
    by_clock = []
    for (element, version), _ in made:
        steps = [each for each in house.steps(element) if each["versionId"] == version]
        assert [each["toState"] for each in steps].count("expired") == 1
        assert steps[-1]["step"] in ("expiry", "succession")
        if steps[-1]["caller"] == "run_lifecycle":
            by_clock.append(("expired", version))
        assert house.tasks(element, "open") == []
        overtaken = house.tasks(element, "obsolete")
        by_clock += [("was overtaken", each["id"]) for each in overtaken if each["decider"] == "run_lifecycle"]
    # One of the two runs made each change.
    assert sorted([*done[0], *done[1]]) == sorted(by_clock)
    house.check()
