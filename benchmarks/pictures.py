"""Layout of a large diagram: 500 shapes with branches, loops, labels, roles and containers, in every layout."""

from __future__ import annotations

import statistics
import time

from benchmarks import report
from benchmarks.load import TimingClient
from benchmarks.modelling import row_of_tasks
from benchmarks.report import Run
from benchmarks.workloads import WRITTEN, Contenders
from elements.diagrams.drawables import (
    DrawableFlow,
    DrawableShape,
    Drawing,
    FigureKind,
    LayoutKey,
    ShapeNotes,
)
from elements.diagrams.svg import DiagramTexts, draw

SHAPES, ROUNDS, ROUNDS_OF_TAGS = 500, 3, 50
KINDS = (FigureKind.TASK, FigureKind.TASK, FigureKind.XOR, FigureKind.TASK, FigureKind.INTERMEDIATE)


def large_drawing(size: int = SHAPES) -> Drawing:
    """Return a flow with a branch at every fifth shape and a loop at every thirtieth."""
    shapes = [
        DrawableShape(
            f"s{number}",
            number,
            KINDS[number % len(KINDS)],
            f"Check the order and step {number}",
            "Task",
            "#4A90C2",
            notes=ShapeNotes((f"Role {number % 8}",), (f"System {number % 5}",), ("Order",), ("Checked order",)),
        )
        for number in range(size)
    ]
    pairs = [(number, number + 1) for number in range(size - 1)]
    pairs += [(number, number + 3) for number in range(2, size - 3, 5)]
    pairs += [(number, number - 20) for number in range(30, size, 30)]
    return Drawing(
        shapes,
        [DrawableFlow(f"s{one}", f"s{two}", "if complete" if one % 5 == 2 else "") for one, two in pairs],
    )


def measure_pictures(run: Run, contenders: Contenders) -> None:
    drawing, texts = large_drawing(), DiagramTexts("en", "", "")
    taken = {}
    for layout in LayoutKey:
        rounds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            draw(texts, drawing, layout)
            rounds.append(time.perf_counter() - began)
        taken[layout] = min(rounds)
    run.limit(f"Slowest layout of {SHAPES} shapes", max(taken.values()), most=1, unit=" s")
    rows = [(layout.value, f"{seconds * 1000:,.0f}") for layout, seconds in taken.items()]
    requests = "".join(f"{title}: {ms:.1f} ms. " for title, ms in measure_requests(contenders).items()).strip()
    run.add("Pictures of diagrams", f"{report.table([f'layout of {SHAPES} shapes', 'ms'], rows)}\n{requests}\n")


def measure_requests(contenders: Contenders) -> dict[str, float]:
    """Return the medians of requests for a picture of 500 shapes, which is drawn, and of the same with its tag."""
    written, client = contenders.storage(WRITTEN), TimingClient(contenders.service.port)
    client.send(written.bpmn(row_of_tasks(SHAPES)))
    drawn = [client.send(written.picture()) for _ in range(ROUNDS)]
    tag = drawn[0].headers["ETag"]
    known = [client.send(written.picture(tag), (304,)) for _ in range(ROUNDS_OF_TAGS)]
    client.send(written.bpmn(row_of_tasks(1)))
    return {
        f"Request for a picture of {SHAPES} shapes": 1000 * statistics.median(each.seconds for each in drawn),
        "The same if it has not changed (304)": 1000 * statistics.median(each.seconds for each in known),
    }
