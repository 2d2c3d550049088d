"""The OMG schemas, and models without their order."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import SpiffWorkflow
from lxml import etree

from elements.bpmn.document.model import BpmnModel


@cache
def schema() -> etree.XMLSchema:
    """Return the OMG schemas, which SpiffWorkflow ships."""
    folder = Path(SpiffWorkflow.__file__).parent / "bpmn/parser/schema"
    return etree.XMLSchema(file=str(folder / "BPMN20.xsd"))


def assert_valid(document: bytes) -> None:
    schema().assertValid(etree.fromstring(document))


def unordered(model: BpmnModel) -> tuple[dict[str, object], ...]:
    return tuple({each.id: each for each in part} for part in (model.nodes, model.flows, model.lanes))
