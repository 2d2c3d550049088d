"""Exported documents as bpmn-moddle and bpmnlint see them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from lxml import etree

from elements.bpmn.document.model import BpmnModel
from elements.bpmn.document.parsing import parse_stored
from elements.bpmn.document.reading import read
from elements.bpmn.generating.writing import write
from tests.elements.bpmn.conftest import DRAFT, RELEASED, BpmnClient
from tests.elements.bpmn.documents import SMALL
from tests.elements.bpmn.generated import CULTURES, ENGLISH, SUBJECT, documents, models
from tests.elements.bpmn.judges import judge, placeless, require_judges
from tests.elements.bpmn.peculiar_documents import COMPLETE, document
from tests.scale import scaled

pytestmark = pytest.mark.long
DRAWING_RULES = ("no-bpmndi", "no-overlapping-elements")


@pytest.fixture(autouse=True)
def judges() -> None:
    require_judges()


def test_moddle_reads_random_exports_without_a_warning(tmp_path: Path) -> None:
    count = 0

    def keep(document: bytes) -> None:
        nonlocal count
        count += 1
        (tmp_path / f"{count}.bpmn").write_bytes(document)

    @settings(max_examples=scaled(40), phases=[Phase.generate], database=None)
    @given(models(), documents())
    def collect(model: BpmnModel, document: bytes) -> None:
        keep(write(None, model, SUBJECT, ENGLISH, CULTURES))
        found = read(document, CULTURES, ENGLISH)
        keep(write(parse_stored(found.document.text()), found.model, SUBJECT, ENGLISH, CULTURES))

    collect()
    found = judge(tmp_path)
    assert len(found) == count
    assert {name: each["warnings"] for name, each in found.items() if each["warnings"]} == {}


def test_moddle_has_no_more_warnings_than_for_the_original(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        folder.mkdir()
    for case, content in COMPLETE.items():
        if case == "odd ids":
            continue  # moddle does not resolve references to ids that XML does not allow
        given = document(content).encode()
        found = read(given, CULTURES, ENGLISH)
        (before / f"{case}.bpmn").write_bytes(given)
        exported = write(parse_stored(found.document.text()), found.model, SUBJECT, ENGLISH, CULTURES)
        (after / f"{case}.bpmn").write_bytes(exported)

    def warnings(folder: Path) -> dict[str, Counter[str]]:
        return {name: Counter(map(placeless, each["warnings"])) for name, each in judge(folder).items()}

    old, new = warnings(before), warnings(after)
    assert {name: new[name] - old[name] for name in old} == {name: Counter() for name in old}


def with_named_flows(given: str) -> bytes:
    """Return a document whose nodes name their flows, as exports do: bpmnlint sees only flows that are named there."""
    root = etree.fromstring(given)
    for flow in root.findall(".//{*}sequenceFlow"):
        for name, end in (("incoming", "targetRef"), ("outgoing", "sourceRef")):
            node = root.find(f".//*[@id='{flow.get(end)}']")
            assert node is not None
            child = etree.Element(etree.QName(etree.QName(flow).namespace, name))
            child.text = flow.get("id")
            node.insert(0, child)
    return etree.tostring(root)


@pytest.mark.django_db
def test_export_has_no_findings_that_the_model_has_not(client_of_bpmn: BpmnClient, tmp_path: Path) -> None:
    client_of_bpmn.bring_in(SMALL)
    (tmp_path / "before.bpmn").write_bytes(with_named_flows(SMALL))
    (tmp_path / "after.bpmn").write_bytes(client_of_bpmn.take_out(DRAFT))
    (tmp_path / "own.bpmn").write_bytes(client_of_bpmn.take_out(RELEASED))
    found = judge(tmp_path)
    assert {name: each["warnings"] for name, each in found.items()} == {name: [] for name in found}
    assert set(found["after.bpmn"]["lint"]) < set(found["before.bpmn"]["lint"])
    # Every shape and edge is drawn, and no two are drawn at the same place.
    assert [each for each in found["after.bpmn"]["lint"] if each.startswith(DRAWING_RULES)] == []
    # People drew two flows to one task.
    assert {each.partition(" ")[0] for each in found["own.bpmn"]["lint"]} == {"fake-join"}


@pytest.mark.django_db
def test_judges_notice_a_broken_document(client_of_bpmn: BpmnClient, tmp_path: Path) -> None:
    root = etree.fromstring(client_of_bpmn.take_out(RELEASED))
    flow = next(each for each in root.iter("{*}sequenceFlow"))
    flow.set("targetRef", "Nothing")
    (tmp_path / "broken.bpmn").write_bytes(etree.tostring(root))
    assert any("Nothing" in each for each in judge(tmp_path)["broken.bpmn"]["warnings"])
