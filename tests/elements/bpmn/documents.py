"""BPMN documents of the tests."""

from __future__ import annotations

from itertools import pairwise

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
HEAD = f'<definitions xmlns="{BPMN}" targetNamespace="http://example.org/test"'


def definitions(content: str, more: str = "") -> str:
    return f"{HEAD}{more}>{content}</definitions>"


SMALL = definitions(
    """
<process id="P" name="Order parts">
  <startEvent id="Start" name="Need"/>
  <userTask id="Check" name="Check stock"><documentation>Look twice.</documentation></userTask>
  <exclusiveGateway id="Enough" name="Enough?" default="No"/>
  <task id="Order" name="Order"/>
  <endEvent id="End" name="Done"><terminateEventDefinition id="T"/></endEvent>
  <sequenceFlow id="F1" sourceRef="Start" targetRef="Check"/>
  <sequenceFlow id="F2" sourceRef="Check" targetRef="Enough"/>
  <sequenceFlow id="Yes" name="yes" sourceRef="Enough" targetRef="End">
    <conditionExpression>stock &gt; 0</conditionExpression>
  </sequenceFlow>
  <sequenceFlow id="No" name="no" sourceRef="Enough" targetRef="Order"/>
  <sequenceFlow id="F5" sourceRef="Order" targetRef="End"/>
  <textAnnotation id="Note"><text>by hand</text></textAnnotation>
  <association id="A" sourceRef="Check" targetRef="Note"/>
</process>"""
)


def large(size: int) -> str:
    """Return a document with tasks in one row, and a lane for each hundred of them."""
    tasks = [f"T{number}" for number in range(size)]
    lanes = "".join(
        f'<lane id="L{first}" name="Lane {first}">'
        + "".join(f"<flowNodeRef>{each}</flowNodeRef>" for each in tasks[first : first + 100])
        + "</lane>"
        for first in range(0, size, 100)
    )
    nodes = "".join(f'<task id="{each}" name="Step {each}"/>' for each in tasks)
    flows = "".join(
        f'<sequenceFlow id="F{number}" sourceRef="{one}" targetRef="{two}"/>'
        for number, (one, two) in enumerate(pairwise(tasks))
    )
    return definitions(f'<process id="P"><laneSet id="LS">{lanes}</laneSet>{nodes}{flows}</process>')


BILLING = definitions('<process id="Billing_1"><task id="T"/></process>')


def call(called: str, name: str = "Bill it") -> str:
    inner = f'<callActivity id="Call" name="{name}" calledElement="{called}"/>'
    return definitions(f'<process id="Caller">{inner}</process>', ' xmlns:b="http://example.org/test"')
