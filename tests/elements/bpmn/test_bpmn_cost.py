"""Cost of BPMN: the number of statements does not depend on the number of shapes, and 500 shapes take less than a second."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.elements.bpmn.conftest import BpmnClient
from tests.elements.bpmn.documents import large
from tests.scale import IS_FULL

pytestmark = pytest.mark.django_db


def statements(work: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


@pytest.mark.long
def test_number_of_statements_is_constant(client_of_bpmn: BpmnClient) -> None:
    counts = {}
    for size in (120, 240):
        document = large(size)
        client_of_bpmn.bring_in(large(3))
        counts[size] = {
            "import": statements(lambda: client_of_bpmn.bring_in(document)),  # noqa: B023  called at once
            "same": statements(lambda: client_of_bpmn.bring_in(document)),  # noqa: B023  called at once
            "renamed": statements(lambda: client_of_bpmn.bring_in(document.replace("Step", "Work"))),  # noqa: B023
            "export": statements(client_of_bpmn.take_out),
        }
    assert counts[120] == counts[240]
    assert counts[120]["export"] < counts[120]["same"] < counts[120]["import"]


@pytest.mark.long
def test_500_shapes_take_less_than_a_second(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(large(3))
    client_of_bpmn.take_out()
    document = large(500)
    spent = {}
    steps: dict[str, Callable[[], object]] = {
        "import": lambda: client_of_bpmn.bring_in(document),
        "export": client_of_bpmn.take_out,
    }
    for name, work in steps.items():
        start = time.process_time()
        work()
        spent[name] = time.process_time() - start
    # In a short run, other programs may keep the machine busy.
    assert all(each < (1 if IS_FULL else 4) for each in spent.values()), spent
