"""Names of the BPMN 2.0 format, and the element types that its kinds become. Pure."""

from __future__ import annotations

from collections.abc import Mapping

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DI = "http://www.omg.org/spec/BPMN/20100524/DI"
DC = "http://www.omg.org/spec/DD/20100524/DC"
DD = "http://www.omg.org/spec/DD/20100524/DI"
OWN = "urn:content-repository:bpmn"
"""Namespace of the elements and attributes with which this service extends BPMN (D285)."""
NAMESPACES: Mapping[str, str] = {"bpmn": MODEL, "bpmndi": DI, "dc": DC, "di": DD, "repository": OWN}
PREFIXES: Mapping[str, str] = {**NAMESPACES, "xsi": "http://www.w3.org/2001/XMLSchema-instance"}
"""Namespaces by the prefixes that most tools use."""

TASK, PLACEHOLDER = "task", "processInterfacePlaceholder"
START, INTERMEDIATE, END = "evStart", "evIntermediate", "evEnd"
AND, OR, XOR, CONDITION = "ruleAnd", "ruleOr", "ruleXor", "condition"
EVENT_TYPES, GATEWAY_TYPES = frozenset({START, INTERMEDIATE, END, CONDITION}), frozenset({AND, OR, XOR})

TASKS = (
    "task", "userTask", "manualTask", "serviceTask", "scriptTask", "sendTask", "receiveTask", "businessRuleTask",
    "choreographyTask", "callChoreography",
)  # fmt: skip
SUB_PROCESSES = ("subProcess", "adHocSubProcess", "transaction", "subChoreography")
CALL = "callActivity"
ACTIVITIES = frozenset({*TASKS, *SUB_PROCESSES, CALL})
BOUNDARY = "boundaryEvent"
TYPES: Mapping[str, str] = {
    **dict.fromkeys((*TASKS, *SUB_PROCESSES), TASK),
    CALL: PLACEHOLDER,
    "startEvent": START,
    **dict.fromkeys(("intermediateCatchEvent", "intermediateThrowEvent", BOUNDARY, "implicitThrowEvent"), INTERMEDIATE),
    "endEvent": END,
    "parallelGateway": AND,
    **dict.fromkeys(("inclusiveGateway", "complexGateway"), OR),
    **dict.fromkeys(("exclusiveGateway", "eventBasedGateway"), XOR),
}
"""The element type of each kind of flow node. The kind itself stays in the stored document."""
KINDS: Mapping[str, str] = {
    TASK: "task",
    PLACEHOLDER: CALL,
    START: "startEvent",
    INTERMEDIATE: "intermediateThrowEvent",
    END: "endEvent",
    AND: "parallelGateway",
    OR: "inclusiveGateway",
    XOR: "exclusiveGateway",
    CONDITION: "intermediateCatchEvent",
}
"""The kind of flow node for each element type; other types are processes and become call activities."""
EVENTS = frozenset({"startEvent", "endEvent", "intermediateCatchEvent", "intermediateThrowEvent", BOUNDARY})
GATEWAYS = frozenset({"parallelGateway", "inclusiveGateway", "complexGateway", "exclusiveGateway", "eventBasedGateway"})
PROCESSES = ("process", "choreography")

# Drawn elements that diagrams of this service cannot represent. They stay in the stored document.
KEPT = frozenset(
    {"messageFlow", "dataObjectReference", "dataObject", "dataStoreReference", "dataInput", "dataOutput"}
    | {"dataInputAssociation", "dataOutputAssociation", "textAnnotation", "association", "group"}
    | {"conversation", "subConversation", "callConversation", "conversationLink"}
)
EDGES = frozenset(
    {"sequenceFlow", "messageFlow", "association", "dataInputAssociation", "dataOutputAssociation", "conversationLink"}
)

# Order of the first children of a BPMN element (OMG schema). Other children follow.
FIRST_CHILDREN = (
    "documentation", "extensionElements", "auditing", "monitoring", "categoryValueRef", "supportedInterfaceRef",
    "ioSpecification", "ioBinding", "participant", "messageFlow", "incoming", "outgoing", "property", "laneSet",
)  # fmt: skip


def bpmn(name: str) -> str:
    return f"{{{MODEL}}}{name}"


def di(name: str) -> str:
    return f"{{{DI}}}{name}"


def own(name: str) -> str:
    return f"{{{OWN}}}{name}"
