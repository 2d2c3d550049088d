"""BPMN documents with everything that a modeller can draw, and with peculiarities of modelling tools."""

from __future__ import annotations

SPACES = {
    "": "http://www.omg.org/spec/BPMN/20100524/MODEL",
    "bpmndi": "http://www.omg.org/spec/BPMN/20100524/DI",
    "dc": "http://www.omg.org/spec/DD/20100524/DC",
    "di": "http://www.omg.org/spec/DD/20100524/DI",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xsd": "http://www.w3.org/2001/XMLSchema",
    "tns": "http://example.org/model",
    "vendor": "http://example.org/vendor",
}
DECLARED = " ".join(f'xmlns{":" * bool(prefix)}{prefix}="{uri}"' for prefix, uri in SPACES.items())
STEPS = """<startEvent id="S"/><task id="T" name="Check"/><endEvent id="E"/>
<sequenceFlow id="f1" sourceRef="S" targetRef="T"/><sequenceFlow id="f2" sourceRef="T" targetRef="E"/>"""


def document(content: str, more: str = 'targetNamespace="http://example.org/model"') -> str:
    return f"<definitions {DECLARED} {more}>{content}</definitions>"


def process(content: str = STEPS, id: str = "P") -> str:
    return f'<process id="{id}">{content}</process>'


def shape(element: str, bounds: str = "0 0 100 80", more: str = "") -> str:
    x, y, width, height = bounds.split(" ")
    area = f'<dc:Bounds x="{x}" y="{y}" width="{width}" height="{height}"/>'
    return f'<bpmndi:BPMNShape id="{element}_di" bpmnElement="{element}" {more}>{area}</bpmndi:BPMNShape>'


def edge(element: str, points: list[tuple[object, object]], more: str = "", inside: str = "") -> str:
    line = "".join(f'<di:waypoint x="{x}" y="{y}"/>' for x, y in points)
    return f'<bpmndi:BPMNEdge id="{element}_di" bpmnElement="{element}" {more}>{line}{inside}</bpmndi:BPMNEdge>'


def diagram(subject: str, drawings: str, id: str = "D") -> str:
    plane = f'<bpmndi:BPMNPlane id="{id}_plane" bpmnElement="{subject}">{drawings}</bpmndi:BPMNPlane>'
    return f'<bpmndi:BPMNDiagram id="{id}">{plane}</bpmndi:BPMNDiagram>'


def pools(content: str) -> str:
    return f'<collaboration id="C">{content}</collaboration>'


DRAWN = shape("S", "50 50 36 36") + shape("T", "150 30 100 80") + shape("E", "300 50 36 36")

COMPLETE = {
    "activities": process("""
<adHocSubProcess id="AH" cancelRemainingInstances="false" ordering="Parallel">
  <task id="a1"/><task id="a2"/><completionCondition>done</completionCondition></adHocSubProcess>
<transaction id="TX" method="##Compensate"><startEvent id="ts"/><endEvent id="te"><cancelEventDefinition/></endEvent>
  <sequenceFlow id="tf" sourceRef="ts" targetRef="te"/></transaction>
<boundaryEvent id="bc" attachedToRef="TX"><cancelEventDefinition/></boundaryEvent>
<subProcess id="ES" triggeredByEvent="true"><startEvent id="es" isInterrupting="false">
  <messageEventDefinition/></startEvent></subProcess>
<task id="MI"><multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>3</loopCardinality>
  </multiInstanceLoopCharacteristics></task>
<task id="L"><standardLoopCharacteristics testBefore="true" loopMaximum="3"><loopCondition>open</loopCondition>
  </standardLoopCharacteristics></task>
<complexGateway id="CG" default="cf"><activationCondition>two of three</activationCondition></complexGateway>
<eventBasedGateway id="EG" instantiate="true" eventGatewayType="Parallel"/>
<scriptTask id="SC" scriptFormat="text/x"><script><![CDATA[if (a < b) { c() }]]></script></scriptTask>
<task id="CO" isForCompensation="true"/>
<boundaryEvent id="cb" attachedToRef="MI"><compensateEventDefinition activityRef="CO" waitForCompletion="true"/>
  </boundaryEvent>
<intermediateThrowEvent id="LT" name="A"><linkEventDefinition id="ld" name="A"><target>lc</target>
  </linkEventDefinition></intermediateThrowEvent>
<intermediateCatchEvent id="LC" name="A"><linkEventDefinition id="lc" name="A"><source>ld</source>
  </linkEventDefinition></intermediateCatchEvent>
<intermediateCatchEvent id="PM" parallelMultiple="true"><signalEventDefinition/>
  <timerEventDefinition><timeDate>2030-01-01</timeDate></timerEventDefinition></intermediateCatchEvent>
<sequenceFlow id="cf" isImmediate="true" sourceRef="CG" targetRef="L">
  <conditionExpression xsi:type="tFormalExpression" language="http://x" evaluatesToTypeRef="xsd:boolean">a &lt; b
  </conditionExpression></sequenceFlow>
<association id="ca" associationDirection="One" sourceRef="cb" targetRef="CO"/>"""),
    "root elements": """
<import importType="http://www.w3.org/2001/XMLSchema" location="x.xsd" namespace="http://x"/>
<itemDefinition id="I" structureRef="xsd:string" itemKind="Information" isCollection="true"/>
<message id="M" itemRef="I"/><error id="ER" structureRef="I" errorCode="1"/><signal id="SG" structureRef="I"/>
<escalation id="EC" escalationCode="2"/><endPoint id="EP"/><partnerEntity id="PE"/>
<interface id="IF" name="i" implementationRef="tns:port"><operation id="OP" name="o" implementationRef="tns:call">
  <inMessageRef>M</inMessageRef><errorRef>ER</errorRef></operation></interface>
<partnerRole id="PR"><participantRef>A</participantRef></partnerRole>
<resource id="R" name="r"><resourceParameter id="RP" name="x" isRequired="true"/></resource>
<category id="CA"><categoryValue id="CV" value="v"/></category>
<correlationProperty id="CP"><correlationPropertyRetrievalExpression messageRef="M"><messagePath>x</messagePath>
  </correlationPropertyRetrievalExpression></correlationProperty>
<dataStore id="DS" name="d"/><globalTask id="GT"/><globalUserTask id="GU"/>
<timerEventDefinition id="TD"><timeCycle xsi:type="tFormalExpression">R/PT1H</timeCycle></timerEventDefinition>
<collaboration id="C"><participant id="A" processRef="P"><interfaceRef>IF</interfaceRef><endPointRef>EP</endPointRef>
  <participantMultiplicity minimum="2" maximum="3"/></participant>
  <correlationKey id="CK"><correlationPropertyRef>CP</correlationPropertyRef></correlationKey></collaboration>
<process id="P"><auditing/><monitoring/>
  <ioSpecification><dataInput id="DI" itemSubjectRef="I"/><dataOutput id="DO"/>
    <inputSet><dataInputRefs>DI</dataInputRefs></inputSet><outputSet><dataOutputRefs>DO</dataOutputRefs></outputSet>
  </ioSpecification><property id="PP" itemSubjectRef="I"/>
  <startEvent id="S"><eventDefinitionRef>TD</eventDefinitionRef></startEvent>
  <callActivity id="CT" calledElement="tns:GU"/>
  <dataStoreReference id="DSR" dataStoreRef="DS"><dataState name="open"/></dataStoreReference>
  <group id="G" categoryValueRef="CV"/>
  <resourceRole id="RR"><resourceRef>R</resourceRef>
    <resourceParameterBinding parameterRef="RP"><formalExpression>1</formalExpression></resourceParameterBinding>
  </resourceRole>
  <correlationSubscription id="CS" correlationKeyRef="CK"><correlationPropertyBinding correlationPropertyRef="CP">
    <dataPath>x</dataPath></correlationPropertyBinding></correlationSubscription></process>
<relationship type="t" id="RL"><source>P</source><target>P</target></relationship>""",
    "data and texts": process(
        STEPS.replace(
            'name="Check"/>',
            """name="Check"><property id="p" name="x"/>
<dataInputAssociation id="i"><sourceRef>DR</sourceRef><targetRef>p</targetRef></dataInputAssociation>
<dataOutputAssociation id="o"><sourceRef>p</sourceRef><targetRef>DR</targetRef><transformation>x</transformation>
<assignment><from>a</from><to>b</to></assignment></dataOutputAssociation></task>""",
        )
        + """<dataObject id="DO" isCollection="true"/>
<dataObjectReference id="DR" dataObjectRef="DO" name="order"><dataState name="new"/></dataObjectReference>
<textAnnotation id="N" textFormat="text/plain"><text>by hand</text></textAnnotation>
<association id="a1" sourceRef="f1" targetRef="N"/><association id="a2" sourceRef="DR" targetRef="f1"/>"""
    ),
    "lanes": process(
        """<laneSet id="LS"><lane id="L1" partitionElementRef="R"><flowNodeRef>S</flowNodeRef><flowNodeRef>T</flowNodeRef>
<childLaneSet id="c"><lane id="L11"><flowNodeRef>T</flowNodeRef></lane></childLaneSet></lane>
<lane id="L2"><flowNodeRef>SP</flowNodeRef><flowNodeRef>I</flowNodeRef></lane></laneSet>
<laneSet id="LS2"><lane id="L3"><flowNodeRef>E</flowNodeRef></lane></laneSet>"""
        + STEPS
        + """<subProcess id="SP"><laneSet id="IS"><lane id="IL"><flowNodeRef>I</flowNodeRef></lane></laneSet>
<task id="I"/></subProcess>"""
    )
    + '<resource id="R" name="Clerk"/>',
    "pools": pools(
        """<participant id="A" processRef="P"/><participant id="B" processRef="P"/><participant id="X" name="black box"/>
<participant id="Y" processRef="vendor:Other"/><messageFlow id="m1" sourceRef="X" targetRef="T" messageRef="M"/>
<messageFlow id="m2" sourceRef="A" targetRef="X"/><textAnnotation id="N"><text>t</text></textAnnotation>
<association id="a1" sourceRef="N" targetRef="A"/><association id="a2" sourceRef="N" targetRef="m1"/><group id="g"/>
<conversation id="cv"><participantRef>A</participantRef><participantRef>X</participantRef></conversation>
<conversationLink id="cl" sourceRef="A" targetRef="cv"/>"""
    )
    + process()
    + '<message id="M"/>',
    "pools without processes": pools(
        '<participant id="A"/><participant id="B"/><messageFlow id="m" sourceRef="A" targetRef="B"/>'
    ),
    "conversations": pools(
        """<conversation id="c1"/><subConversation id="sc"><conversation id="c2"/></subConversation><callConversation id="cc"/>"""
    ),
    "notes": pools('<textAnnotation id="N"><text>to do</text></textAnnotation><group id="G"/>'),
    "choreography": """<choreography id="CH"><participant id="A"/><participant id="B"/>
<messageFlow id="mf" sourceRef="A" targetRef="B"/><startEvent id="S"/>
<choreographyTask id="ct" initiatingParticipantRef="A"><participantRef>A</participantRef><participantRef>B</participantRef>
  <messageFlowRef>mf</messageFlowRef></choreographyTask>
<subChoreography id="sc" initiatingParticipantRef="A"><participantRef>A</participantRef><participantRef>B</participantRef>
  <choreographyTask id="c2" initiatingParticipantRef="B"><participantRef>A</participantRef>
    <participantRef>B</participantRef><messageFlowRef>mf</messageFlowRef></choreographyTask></subChoreography>
<sequenceFlow id="f" sourceRef="S" targetRef="ct"/></choreography>""",
    "several diagrams": process(
        STEPS
        + """<subProcess id="SP" name="collapsed"><startEvent id="IS"/><task id="IT"/>
<sequenceFlow id="if" sourceRef="IS" targetRef="IT"/></subProcess>"""
    )
    + diagram("P", DRAWN + shape("SP", "400 30 100 80", 'isExpanded="false"'))
    + diagram("SP", shape("IS", "0 0 36 36") + shape("IT", "100 0 100 80"), "D2")
    + diagram("P", shape("T", "9 9 50 40").replace("T_di", "T_di2"), "D3"),
    "flows": process(
        STEPS
        + """<sequenceFlow id="again" name="again" sourceRef="S" targetRef="T"/>
<sequenceFlow id="loop" sourceRef="T" targetRef="T"/><subProcess id="SP"><task id="I"/></subProcess>
<sequenceFlow id="in" sourceRef="T" targetRef="I"/><sequenceFlow id="out" sourceRef="I" targetRef="E"/>
<sequenceFlow id="loose"/><boundaryEvent id="B" attachedToRef="I"/>"""
    ),
    "extensions": process(
        """<startEvent id="S"><vendor:listener event="x">a<vendor:b>c</vendor:b>d</vendor:listener></startEvent>
<task id="T" vendor:color="red"><extensionElements><vendor:task id="T"/><task id="inner"/>
<plain xmlns="" kind="1"><deep/></plain></extensionElements></task><vendor:node id="V"/>"""
    ),
    "nested sub-processes": process("""
<startEvent id="S"/><subProcess id="A"><subProcess id="B"><transaction id="C"><task id="D"/>
<boundaryEvent id="D1" attachedToRef="D" cancelActivity="false"><timerEventDefinition/></boundaryEvent><task id="D2"/>
<sequenceFlow id="d" sourceRef="D1" targetRef="D2"/></transaction>
<boundaryEvent id="C1" attachedToRef="C"><cancelEventDefinition/></boundaryEvent><endEvent id="C2"/>
<sequenceFlow id="c" sourceRef="C1" targetRef="C2"/></subProcess>
<boundaryEvent id="B1" attachedToRef="B"><errorEventDefinition/></boundaryEvent><boundaryEvent id="B2" attachedToRef="B"/>
<adHocSubProcess id="H"><subProcess id="EV" triggeredByEvent="true"><startEvent id="ES"><errorEventDefinition/>
</startEvent></subProcess></adHocSubProcess><sequenceFlow id="b" sourceRef="B1" targetRef="H"/></subProcess>
<boundaryEvent id="A1" attachedToRef="A"><escalationEventDefinition/></boundaryEvent>
<sequenceFlow id="s" sourceRef="S" targetRef="A"/>"""),
    "many pools": pools(
        "".join(
            f'<participant id="A{n}" name="Pool {n}" processRef="P{n}"><extensionElements><vendor:x/></extensionElements>'
            "</participant>"
            for n in range(4)
        )
        + "".join(f'<messageFlow id="m{n}" sourceRef="T{n}" targetRef="T{n + 1}"/>' for n in range(3))
        + '<messageFlow id="m4" sourceRef="T0" targetRef="A3"/>'
    )
    + "".join(
        process(
            f"""<laneSet id="LS{n}"><lane id="L{n}" name="Lane"><flowNodeRef>T{n}</flowNodeRef></lane><lane id="M{n}"/>
</laneSet><task id="T{n}" name="Step"/><endEvent id="E{n}"/><sequenceFlow id="f{n}" sourceRef="T{n}" targetRef="E{n}"/>
<dataStoreReference id="D{n}"/>""",
            f"P{n}",
        )
        for n in range(4)
    )
    + process("", "Empty"),
    "vendors": process(
        """<documentation id="Doc"/><startEvent id="S"><extensionElements>
<c:formData xmlns:c="http://camunda.org/schema/1.0/bpmn"><c:formField id="S" type="string"/></c:formData>
<f:listener xmlns:f="http://flowable.org/bpmn" event="create"/></extensionElements></startEvent>
<serviceTask id="T" z:modelerTemplate="io.x" z:modelerTemplateVersion="1" xmlns:z="http://camunda.org/schema/zeebe/1.0">
<extensionElements><z:ioMapping><z:input source="= a" target="b"/></z:ioMapping><s:signavioMetaData
xmlns:s="http://www.signavio.com" metaKey="bgcolor" metaValue="#ffffcc"/><b:BizagiExtensions
xmlns:b="http://www.bizagi.com/bpmn20"><b:BizagiProperties><b:BizagiProperty name="x" value="&#10;"/>
</b:BizagiProperties></b:BizagiExtensions></extensionElements></serviceTask>
<sequenceFlow id="f" sourceRef="S" targetRef="T"><extensionElements><vendor:curve/></extensionElements></sequenceFlow>"""
    )
    + diagram("P", shape("T", "-5.5 1e2 100.0 80", 'vendor:stroke="#831311" color:fill="red" xmlns:color="urn:color"')),
    "comments": process(
        '<!-- first --><laneSet><!-- no lane --></laneSet><task id="T"><!-- in a task --><?tool y?><extensionElements>'
        "<!-- in extensions --><vendor:x><![CDATA[<y>&]]></vendor:x></extensionElements></task><!-- last -->"
    ),
    "odd ids": process(
        """<task id="a b" name="😀"/><task id="1"/><task id="ä.ö-ü" name="שלום"/><task id="{GUID}"/><task id="x:y"/>
<sequenceFlow id="$" sourceRef="a b" targetRef="1"/><sequenceFlow id="#" sourceRef="{GUID}" targetRef="x:y"/>"""
    ),
    "prefixes": process(STEPS.replace('targetRef="T"', 'targetRef="tns:T"')),
    "namespace that is no address": process(
        '<task id="T" odd:color="red"/><boundaryEvent id="B" attachedToRef="odd:T"/>'
    ).replace("<process", '<process xmlns:odd="http://A.1.0/Initial Import"'),
    "flow to another document": pools(
        """<participant id="A" processRef="P"/><messageFlow id="m" sourceRef="T" targetRef="vendor:Task"/>"""
    )
    + process(),
    "long line": process() + diagram("P", DRAWN + edge("f1", [(number, number % 7) for number in range(1500)])),
    "texts": process(
        f"""<task id="T" name="{"long " * 2000}"/><task id="W" name="   "/><task id="B" name="a&#10;b&#9;c"/>
<task id="D"><documentation>one</documentation><documentation textFormat="text/x">two</documentation></task>
<task id="H"><documentation textFormat="text/html">&lt;p onclick="x()"&gt;hi&lt;/p&gt;</documentation></task>
<sequenceFlow id="f" name="{"y" * 3000}" sourceRef="T" targetRef="W"><documentation>z</documentation></sequenceFlow>"""
    ),
}
"""Contents of documents that come back completely."""
