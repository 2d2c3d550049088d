"""Import and export of the BPMN files of a folder: set REPOSITORY_BPMN_CORPUS to run it.

REPOSITORY_BPMN_REPORT names a file for one line of JSON for each document.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from lxml import etree

from elements.bpmn.files import bpmn_files
from tests.elements.bpmn.comparing import compare, parsed
from tests.elements.bpmn.conftest import BpmnClient
from tests.elements.bpmn.judges import judge, placeless, require_judges
from tests.elements.bpmn.omg_schema import schema

FOLDER = os.environ.get("REPOSITORY_BPMN_CORPUS", "")
REPORT = os.environ.get("REPOSITORY_BPMN_REPORT", "")
DRAWN = ("node", "sequenceFlow")
ILLEGAL = re.compile(r"illegal ID <(.*?)>")


@pytest.mark.django_db
@pytest.mark.skipif(not FOLDER, reason="needs a folder of BPMN files: REPOSITORY_BPMN_CORPUS")
def test_nodes_and_flows_of_a_corpus_come_back(client_of_bpmn: BpmnClient, tmp_path: Path) -> None:
    require_judges()
    rows = [_round_trip(client_of_bpmn, path, tmp_path / f"{number}") for number, path in enumerate(corpus())]
    _judge(rows, tmp_path)
    if REPORT:
        Path(REPORT).write_text("".join(json.dumps(each) + "\n" for each in rows))
    read = [each for each in rows if not each["refused"]]
    total, lost = (sum((Counter(each[name]) for each in read), Counter()) for name in ("counts", "lost"))
    count, missing = (sum(found[kind] for kind in DRAWN) for found in (total, lost))
    assert [each["file"] for each in read if each["second"] or each["newlyInvalid"] or each["warnings"]] == []
    assert missing <= count / 100, f"{missing} of {count} nodes and flows are lost"


def corpus() -> list[Path]:
    return bpmn_files(Path(FOLDER))


def _round_trip(client: BpmnClient, path: Path, folder: Path) -> dict[str, Any]:
    """Import a file into a draft, export it, import it again, and forget all of it."""
    data = path.read_bytes()
    row: dict[str, Any] = {"file": str(path.relative_to(FOLDER)), "bytes": len(data), "refused": ""}
    start = time.process_time()
    with transaction.atomic():
        response = client.send(data)
        row["seconds"] = round(time.process_time() - start, 3)
        if response.status_code != 200:
            row["refused"] = f"{response.status_code} {response.content.decode()}"
        else:
            _compare(client, data, response.json(), row, folder)
        transaction.set_rollback(True)
    return row


def _compare(client: BpmnClient, data: bytes, report: dict[str, Any], row: dict[str, Any], folder: Path) -> None:
    again = client.bring_in(data)
    exported = client.take_out()
    third = client.bring_in(exported)
    folder.mkdir()
    (folder / "after.bpmn").write_bytes(exported)
    (folder / "before.bpmn").write_bytes(etree.tostring(parsed(data).getroottree(), encoding="UTF-8"))
    found = compare(data, exported)
    row["counts"] = found.counts
    row["lost"] = Counter(kind for kind, _key in {(each.kind, each.key) for each in found.losses})
    row["losses"] = [f"{each.kind} {each.key[-2:]}: {each.text}" for each in found.losses]
    row["reported"] = report["lost"]
    row["second"] = [*again["added"], *again["changed"], *again["removed"]]
    row["own"] = [each for each in (*third["added"], *third["changed"], *third["removed"]) if each["kind"] != "bpmn"]
    problems = [not schema().validate(parsed(each)) for each in (data, exported)]
    row["newlyInvalid"] = [str(schema().error_log.last_error)] if problems == [False, True] else []
    row["invalid"] = problems
    row["folder"] = folder.name


def _judge(rows: list[dict[str, Any]], folder: Path) -> None:
    """Note the warnings of bpmn-moddle that the original does not have, or does not cause by an id that XML forbids."""
    for side in ("before", "after"):
        (folder / side).mkdir()
        for each in rows:
            if not each["refused"]:
                (folder / each["folder"] / f"{side}.bpmn").rename(folder / side / f"{each['folder']}.bpmn")
    found = {side: judge(folder / side) for side in ("before", "after")}
    for each in rows:
        if not each["refused"]:
            name = f"{each['folder']}.bpmn"
            old, new = (Counter(map(placeless, found[side][name]["warnings"])) for side in ("before", "after"))
            illegal = {f"unresolved reference <{id}>" for text in old for id in ILLEGAL.findall(text)}
            each["warnings"] = sorted(text for text in (new - old).elements() if text not in illegal)
