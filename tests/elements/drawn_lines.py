"""Lines of a process whose diagram has everything that people can draw (D270, D271)."""

from __future__ import annotations

from typing import Any

from tests.elements.transfer_files import guid, line, reference, version

TASK, EVENT, SYSTEM, PROCESS, VERSION = 20, 21, 6, 2, 11
SHAPE, BOUNDARY, POOL, LANE = guid(50), guid(51), guid(60), guid(61)
SOURCE = '<?xml version="1.0"?>\n<definitions\tname="a \\ b">\r\n<process name="p" id="P1"/></definitions>'
BOUNDS = {"x": -10.5, "y": 0, "width": 100, "height": 80.25}


def drawn_content() -> list[dict[str, Any]]:
    flow = {
        "properties": {
            "shapeId": SHAPE, "label": {"1031": "ja", "1033": 'yes\n"now" \\'}, "bpmnId": "Flow_1",
            "waypoints": [[0, 0], [10.5, -20]],
        }
    }  # fmt: skip
    return [
        {
            "properties": {"shapeId": SHAPE, "predecessors": [], "bounds": BOUNDS, "lane": LANE, "bpmnId": "Task_1"},
            **reference(TASK, "task", "processes"),
        },
        {
            "properties": {
                "shapeId": BOUNDARY, "predecessors": [flow], "lane": LANE, "container": SHAPE, "attachedTo": SHAPE,
            },
            **reference(EVENT, "evIntermediate", "processes"),
        },
    ]  # fmt: skip


def drawn_lanes() -> list[dict[str, Any]]:
    return [
        {"id": POOL, "name": {"1033": "Company"}, "isPool": True, "bounds": BOUNDS, "bpmnId": "Pool_1"},
        {"id": LANE, "name": {"1031": "Verkauf", "1033": "Sales"}, "element": reference(SYSTEM), "parent": POOL},
    ]


def drawn_lines(**changes: Any) -> list[dict[str, Any]]:
    parts = {"content": drawn_content(), "lanes": drawn_lanes(), "bpmn": SOURCE, **changes}
    return [
        line(SYSTEM),
        line(TASK, "task", "processes"),
        line(EVENT, "evIntermediate", "processes"),
        version(PROCESS, VERSION, "released", "1.0", **parts),
    ]
