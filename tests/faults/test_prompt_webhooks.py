"""Real workers deliver promptly, whatever other receivers and storages do (D367, D368)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import figures
from tests.receivers import Receiver, receiving
from tests.scale import IS_FULL
from tests.server_process import DataFolders
from tests.working_jobs.webhook_installation import WebhookInstallation

pytestmark = [pytest.mark.server, pytest.mark.fault]
HANGING = 40
# Of another storage, at the same time.
FLOOD = 3000
EVENTS = 5
FIRST = 1000
# The bars, in seconds, count at full scale only, on an idle machine. Otherwise a delivery must not take as long as a
# hanging receiver.
USUAL, DISTURBED = (1.0, 2.0) if IS_FULL else (8.0, 8.0)
SECONDS = f"""SELECT array_agg(extract(epoch FROM a.time - e.time)::float8) FROM storage_webhookattempt a
    JOIN storage_webhookdelivery d ON d.id = a.delivery_id AND d.storage_id = a.storage_id
    JOIN storage_event e ON e.id = d.event_id AND e.storage_id = d.storage_id
    JOIN storage_webhook w ON w.id = d.webhook_id AND w.url LIKE '%/prompt'
    WHERE a.status = 200 AND (e.data ->> 'place')::int >= {FIRST}"""


@pytest.fixture
def installed(tmp_path: Path, data_folders: DataFolders) -> Iterator[WebhookInstallation]:
    installation = WebhookInstallation(tmp_path, data_folders)
    yield installation
    installation.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def usual_seconds(installed: WebhookInstallation, receiver: Receiver) -> float:
    """Write some events with a pause between them; return the median time from an event to its delivery."""
    before = len(receiver.requests)
    writer = installed.write_events("acme", EVENTS, EVENTS, first=FIRST, pause=1.5)
    installed.wait_for(lambda: len(receiver.requests) >= before + EVENTS, 90, "events are not delivered")
    writer.wait(60)
    time.sleep(1)
    found: list[float] = installed.server.ask(SECONDS)
    assert len(found) == EVENTS
    return statistics.median(found)


def test_an_event_is_delivered_promptly(installed: WebhookInstallation, receiver: Receiver) -> None:
    installed.add_webhooks("acme", [receiver.url("prompt")])
    installed.work("--jobs", "4")
    installed.wait_for(lambda: installed.server.ask("SELECT count(*) FROM procrastinate_workers") == 1, 30, "no worker")
    time.sleep(3)
    seconds = usual_seconds(installed, receiver)
    figures.note("prompt webhooks", "an idle installation", delivered=round(seconds, 2))
    assert seconds < USUAL


def test_hanging_receivers_and_a_flood_delay_nobody_else(installed: WebhookInstallation, receiver: Receiver) -> None:
    with receiving("hang") as hanging, receiving("slow") as flooded:
        installed.add_webhooks(
            "acme", [*(hanging.url(str(number)) for number in range(HANGING)), receiver.url("prompt")]
        )
        installed.add_webhooks("rival", [flooded.url("flood")])
        installed.work("--jobs", "4")
        flood = installed.write_events("rival", FLOOD, FLOOD)
        installed.write_events("acme", 20, 20).wait(60)
        installed.wait_for(lambda: hanging.open >= HANGING, 60, "not all receivers hang at the same time")
        installed.wait_for(lambda: len(receiver.requests) >= 20, 60, "the first events are not delivered")
        installed.wait_for(lambda: len(flooded.requests) >= 100, 60, "the other storage waits")
        seconds, open = usual_seconds(installed, receiver), hanging.open
        flood.kill()
        name = f"{HANGING} hanging receivers in the same storage, {FLOOD} messages of another one"
        figures.note("prompt webhooks", name, delivered=round(seconds, 2))
        assert open > HANGING / 3
        assert seconds < DISTURBED
