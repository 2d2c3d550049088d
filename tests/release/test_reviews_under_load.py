"""Concurrent decisions about versions in review (D355), on a real server with two workers.

Each test creates its own content. After every round the lifecycles of both storages are replayed, and no response may
be a server error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.clustered_server import loaded_server
from tests.load_client import LoadResponse, statuses, together
from tests.release.house import ID
from tests.release.load_house import API, CLOCK, PROCESSES, Body, ServedHouse, at_once, run, served_house, tell
from tests.scale import IS_FULL
from tests.server_process import DataFolders, Server

pytestmark = [pytest.mark.server, pytest.mark.long, pytest.mark.own_cluster]
COUNT = 12 if IS_FULL else 4
REVIEWERS = ("ben", "dora")
Calls = list[Callable[[], LoadResponse]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, data_folders: DataFolders) -> Iterator[Server]:
    with loaded_server(tmp_path_factory.mktemp("reviews"), data_folders) as server:
        yield server


@pytest.fixture(scope="module")
def house(server: Server) -> Iterator[ServedHouse]:
    with served_house(server, "standard") as house:
        yield house


def submitted(house: ServedHouse, name: str) -> list[tuple[str, dict[str, str]]]:
    """Submit drafts for review; return the elements with the tasks of their reviewers."""
    made = house.processes(name, COUNT, reviewers=REVIEWERS)
    together([partial(house.take, element, "InProcessToInReview") for element, _ in made])
    return [(element, tasks_of(house, element)) for element, _ in made]


def tasks_of(house: ServedHouse, element: str) -> dict[str, str]:
    names = {ID[name]: name for name in REVIEWERS}
    return {names[each["assignee"]["id"]]: each["id"] for each in house.tasks(element, "open")}


def by_caller(
    house: ServedHouse, name: str, task: str, verb: str, body: Body | None = None
) -> Callable[[], LoadResponse]:
    return partial(house.callers[name].decide, task, verb, body)


def race(
    house: ServedHouse, waiting: list[tuple[str, dict[str, str]]], calls_of: Callable[..., Calls]
) -> list[list[LoadResponse]]:
    """Make all calls at once; return the responses by element."""
    each = [calls_of(element, tasks) for element, tasks in waiting]
    done = iter(at_once([call for calls in each for call in calls]))
    return [[next(done) for _ in calls] for calls in each]


def test_every_reviewer_counts_once(house: ServedHouse) -> None:
    """Both accept at the same time, each of them twice: the last approval takes the step, exactly once."""
    waiting = submitted(house, "Accepted twice")

    def calls(element: str, tasks: dict[str, str]) -> Calls:
        return [by_caller(house, name, tasks[name], "accept") for name in REVIEWERS for _ in range(2)]

    for (element, _), answers in zip(waiting, race(house, waiting, calls), strict=True):
        assert [statuses(answers[:2]), statuses(answers[2:])] == [{200: 1, 409: 1}] * 2
        assert [each["step"] for each in house.steps(element)] == ["transition", "approval", "transition"]
        assert house.states(element) == ["readyForRelease"]
        assert [each["type"] for each in house.tasks(element, "open")] == ["Approve release"]
    house.check()


def test_the_last_approval_against_a_direct_transition(house: ServedHouse) -> None:
    waiting = submitted(house, "Overtaken review")
    together([by_caller(house, "ben", tasks["ben"], "accept") for _, tasks in waiting])

    def calls(element: str, tasks: dict[str, str]) -> Calls:
        direct = partial(house.architect.step, element, "InReviewToReadyForQA")
        return [by_caller(house, "dora", tasks["dora"], "accept"), direct]

    for (element, tasks), answers in zip(waiting, race(house, waiting, calls), strict=True):
        assert statuses(answers) == {200: 1, 409: 1}
        is_accepted = answers[0].status == 200
        assert house.states(element) == ["readyForRelease" if is_accepted else "readyForQa"]
        [last] = house.callers["dora"].call("GET", f"{API}/rest/tasks/{tasks['dora']}").body["values"]
        assert last["state"] == ("accepted" if is_accepted else "obsolete")
        [opened] = house.tasks(element, "open")
        assert opened["type"] == ("Approve release" if is_accepted else "Quality assurance")
    house.check()


def test_one_of_accept_reject_and_withdraw_succeeds(house: ServedHouse) -> None:
    waiting = submitted(house, "Torn")
    together([by_caller(house, "ben", tasks["ben"], "accept") for _, tasks in waiting])
    ways = (("dora", "accept"), ("dora", "reject"), ("architect", "withdraw"), ("cora", "reject"))

    def calls(element: str, tasks: dict[str, str]) -> Calls:
        return [by_caller(house, name, tasks["dora"], verb) for name, verb in ways]

    for (element, _), answers in zip(waiting, race(house, waiting, calls), strict=True):
        assert statuses(answers) == {200: 1, 409: len(ways) - 1}
        assert house.states(element) == ["readyForRelease" if answers[0].status == 200 else "inProcess"]
    house.check()


def test_a_task_is_reassigned_or_decided(house: ServedHouse) -> None:
    """A person who has lost the task to another gets 403, and the other decides."""
    waiting = submitted(house, "Passed on")

    def calls(element: str, tasks: dict[str, str]) -> Calls:
        other = {"assignee": ID["cora"]}
        return [
            by_caller(house, "dora", tasks["dora"], "delegate", other),
            by_caller(house, "dora", tasks["dora"], "accept"),
        ]

    for (element, tasks), answers in zip(waiting, race(house, waiting, calls), strict=True):
        delegated, accepted = (each.status for each in answers)
        assert (delegated, accepted) in ((200, 403), (409, 200))
        if delegated == 200:
            assert house.callers["cora"].decide(tasks["dora"], "accept").status == 200
        assert house.ben.decide(tasks["ben"], "accept").status == 200
        assert house.states(element) == ["readyForRelease"]
    house.check()


def test_a_rejected_draft_is_deleted_or_submitted_again(house: ServedHouse) -> None:
    waiting = submitted(house, "Given up")
    together([by_caller(house, "ben", tasks["ben"], "reject") for _, tasks in waiting])

    def calls(element: str, tasks: dict[str, str]) -> Calls:
        gone = partial(house.architect.call, "DELETE", f"{PROCESSES}/{element}")
        again = partial(house.architect.step, element, "InProcessToInReview")
        late = by_caller(house, "cora", tasks["dora"], "reject")
        return [gone, again, late]

    outcomes = Counter[int]()
    for (element, _), answers in zip(waiting, race(house, waiting, calls), strict=True):
        deleted, again, late = (each.status for each in answers)
        assert (deleted, again) in ((200, 404), (409, 200))
        assert late in ((404, 409) if deleted == 200 else (409,))
        assert house.architect.read(element).status == (404 if deleted == 200 else 200)
        assert len(house.tasks(element, "open,obsolete,rejected")) == (0 if deleted == 200 else 4)
        outcomes[deleted] += 1
    assert outcomes.keys() <= {200, 409}
    house.check()


def test_the_scheduled_jobs_open_no_second_round(house: ServedHouse) -> None:
    """Imported versions have no task until a run. Two runs and a caller who sends a version back race for them."""
    clocks = [run(house.server, CLOCK) for _ in range(2)]

    def strike(place: int) -> None:
        line = tell(clocks[place], "")
        while line != "done":
            stdout = clocks[place].stdout
            assert stdout is not None
            line = stdout.readline().rstrip("\n")

    try:
        calls: list[Callable[[], object]] = [partial(strike, 0), partial(strike, 1)]
        calls += [partial(house.architect.step, ID["inReview"], "InReviewToReadyForQA")]
        calls += [partial(house.architect.step, ID["readyForQa"], "ReadyForQAToInProcess")]
        at_once(calls)
        strike(0)
    finally:
        for clock in clocks:
            clock.communicate(timeout=60)
    found = {
        name: [each["type"] for each in house.tasks(ID[name], "open")]
        for name in ("inReview", "readyForQa", "readyForRelease")
    }
    assert found == {"inReview": ["Quality assurance"], "readyForQa": [], "readyForRelease": ["Approve release"]}
    house.check()
