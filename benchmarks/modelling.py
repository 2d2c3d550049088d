"""Import and export of BPMN documents."""

from __future__ import annotations

import statistics

from benchmarks.load import TimingClient
from benchmarks.report import Run
from benchmarks.workloads import WRITTEN, Contenders

SHAPES = 500
BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"


def row_of_tasks(count: int) -> bytes:
    """Return a BPMN document with tasks that follow each other."""
    tasks = "".join(f'<task id="T{number}" name="Step {number}"/>' for number in range(count))
    flows = "".join(
        f'<sequenceFlow id="F{number}" sourceRef="T{number - 1}" targetRef="T{number}"/>' for number in range(1, count)
    )
    process = f'<process id="P">{tasks}{flows}</process>'
    return f'<definitions xmlns="{BPMN}" targetNamespace="http://example.org">{process}</definitions>'.encode()


def measure_bpmn(run: Run, contenders: Contenders) -> None:
    """Measure an import of 500 shapes into a diagram with one, the same import again, and the export."""
    written, client = contenders.storage(WRITTEN), TimingClient(contenders.service.port)
    small, large = row_of_tasks(1), row_of_tasks(SHAPES)
    times: dict[str, list[float]] = {"import": [], "import of the same document": [], "export": []}
    for _ in range(max(3, run.scale.rounds)):
        client.send(written.bpmn(small))
        times["import"].append(client.send(written.bpmn(large)).seconds)
        times["import of the same document"].append(client.send(written.bpmn(large)).seconds)
        times["export"].append(client.send(written.bpmn()).seconds)
    client.send(written.bpmn(small))
    for title, seconds in times.items():
        value = 1000 * statistics.median(seconds)
        run.limit(f"BPMN, {title}, {SHAPES} shapes", value, most=1000, unit=" ms")
