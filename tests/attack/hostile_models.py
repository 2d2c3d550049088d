"""BPMN documents and diagrams that would make their import or export expensive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from elements.bpmn.document.model import BpmnFlow, BpmnLane, BpmnModel, BpmnNode
from elements.bpmn.document.parsing import MAX_PARTS, MAX_PREFIXES, parse_stored, process_ids
from elements.bpmn.document.reading import MAX_NODES, DocumentReading, read
from elements.bpmn.document.vocabulary import DI, OWN
from elements.bpmn.generating.writing import ExportedProcess, write
from repository_site.core.problems import Problem
from tests.attack.growth import Place
from tests.elements.bpmn.documents import definitions

DOCUMENT = f"size of the body, {MAX_PARTS:,} XML elements, {MAX_NODES:,} nodes"
DIAGRAM = "`REPOSITORY_MAX_SHAPES`, 5,000, and 10,000 flows"
LCID = "1033"
SUBJECT = ExportedProcess("Process_1", {LCID: "Order parts"})
DRAWINGS = f' xmlns:di="{DI}"'
# Levels of sub-processes; a document can have twice as many.
DEEP = 50


def models() -> Iterator[Place]:
    yield from _imports()
    yield from _exports()
    yield from _drawings()


def _imports() -> Iterator[Place]:
    def bring_in(document: str) -> object:
        try:
            return read(document.encode(), [LCID], LCID)
        except Problem as problem:
            return problem

    def prefixes(n: int) -> str:
        declared = "".join(f' xmlns:p{number}="urn:{number}"' for number in range(n))
        return definitions(
            "".join(f'<process id="P{each}" definitionalCollaborationRef="q:x"/>' for each in range(n)), declared
        )

    yield Place("import of BPMN: tasks", DOCUMENT, 100, lambda n: _process(_tasks(n)), bring_in)
    yield Place(
        "import of BPMN: parts with the same id",
        DOCUMENT,
        300,
        lambda n: _process('<task id="T">' + '<documentation id="D"/>' * n + "</task>"),
        bring_in,
    )
    yield Place(
        "import of BPMN: flows that lead nowhere",
        DOCUMENT,
        100,
        lambda n: _process("".join(f'<sequenceFlow id="F{each}" sourceRef="A" targetRef="B"/>' for each in range(n))),
        bring_in,
    )
    yield Place(
        "import of BPMN: references with prefixes",
        f"{DOCUMENT}, {MAX_PREFIXES} prefixes",
        MAX_PREFIXES // 2,
        prefixes,
        bring_in,
    )
    yield Place(
        "import of a storage: processes in a comment",
        "64 MB for a line",
        300,
        lambda n: f"<!--{'<process ' * n}-->",
        process_ids,
    )


def _exports() -> Iterator[Place]:
    """Documents from which an export starts."""

    def planes(n: int) -> str:
        drawn = "".join('<di:BPMNDiagram><di:BPMNPlane bpmnElement="P"/></di:BPMNDiagram>' for _ in range(n))
        return _process(f'<subProcess id="S">{_tasks(n)}</subProcess>', drawn)

    def pools(n: int) -> str:
        mark = f'<extensionElements><r:element xmlns:r="{OWN}" computed="true"/></extensionElements>'
        found = "".join(f'<participant id="L{each}" processRef="P">{mark}</participant>' for each in range(n))
        return _process(_tasks(n), f'<collaboration id="C">{found}</collaboration>')

    def signs(n: int) -> str:
        """Tasks whose ids differ only in signs that ids of XML must not have."""
        ids = (f"{each:014b}".replace("0", "!").replace("1", "?") for each in range(n))
        return _process("".join(f'<task id="a{each}"/>' for each in ids))

    def hub(n: int) -> str:
        notes = "".join(f'<textAnnotation id="A{each}"/>' for each in range(n))
        flows = "".join(f'<sequenceFlow id="F{each}" sourceRef="S" targetRef="T{each}"/>' for each in range(n))
        return _process(f'<subProcess id="S">{notes}</subProcess>{_tasks(n)}{flows}')

    for name, make in {
        "a diagram for each task of a sub-process": planes,
        "pools of one process": pools,
        "ids that differ only in signs": signs,
        "flows from one sub-process with many parts": hub,
    }.items():
        yield Place(f"export of BPMN: {name}", DOCUMENT, 60 if make is hub else 200, make, _export)

    def notes(n: int) -> tuple[str, BpmnModel]:
        """A document with many notes, and a diagram with many new tasks."""
        document = _process("".join(f'<textAnnotation id="A{each}"/>' for each in range(n)))
        return document, BpmnModel([BpmnNode(f"T{each}", "task", {}) for each in range(n)], [])

    yield Place(
        "export of BPMN: new tasks beside notes", f"{DOCUMENT}; {DIAGRAM}", 200, notes, lambda given: _write(*given)
    )


def _drawings() -> Iterator[Place]:
    """Diagrams that nobody has drawn, so that an export has to arrange them."""

    def nodes(n: int, **more: Any) -> list[BpmnNode]:
        return [BpmnNode(f"T{each}", "task", {}, **more) for each in range(n)]

    def lanes(n: int) -> BpmnModel:
        found = [replace(each, lane=f"L{number}") for number, each in enumerate(nodes(n))]
        return BpmnModel(found, [], [BpmnLane(f"L{each}", {}) for each in range(n)])

    def column(n: int) -> BpmnModel:
        flows = [BpmnFlow(f"F{each}", "T0", f"T{each}") for each in range(1, n)]
        return BpmnModel(nodes(n, lane="L"), flows, [BpmnLane("L", {})])

    def nested(n: int) -> BpmnModel:
        found = [
            replace(each, container=f"T{number - 1}") if number % DEEP else each for number, each in enumerate(nodes(n))
        ]
        return BpmnModel(found, [BpmnFlow(f"F{each}", f"T{each}", f"T{each + DEEP}") for each in range(n - DEEP)])

    made: dict[str, Callable[[int], BpmnModel]] = {
        "a lane for each task": lanes, "tasks of one lane in one column": column, "sub-processes in sub-processes": nested,
    }  # fmt: skip
    for name, make in made.items():
        yield Place(f"drawing for BPMN: {name}", DIAGRAM, 100, make, lambda model: _write(None, model))


def _process(content: str, more: str = "") -> str:
    return definitions(f'<process id="P">{content}</process>{more}', DRAWINGS)


def _tasks(count: int) -> str:
    return "".join(f'<task id="T{number}"/>' for number in range(count))


def _export(document: str) -> bytes:
    return _write(document, DocumentReading(parse_stored(document).root, LCID).model())


def _write(document: str | None, model: BpmnModel) -> bytes:
    return write(parse_stored(document) if document else None, model, SUBJECT, LCID, [LCID])
