"""Transfer of a storage: what goes in comes out again, and what is wrong is told line by line."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elements.models import Element, ElementVersion, Reference, Shape
from elements.transfer.checking import Survey
from elements.transfer.lines import LineReader
from elements.transfer.rows import ImportRows, RowMaker
from facets.configuration import configuration_of
from repository_site.core import environment
from storage.models import Storage
from storage.models.roles import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import StorageFactory, token_for
from tests.scale import scaled

pytestmark = pytest.mark.django_db
DEMO = environment.PROJECT_DIR / "elements/demo/showcase.ndjson"
DEMO_LINES = DEMO.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def house(other_storage: Storage) -> Storage:
    return StorageFactory.create(key="house", template="standard")


@pytest.fixture
def second(house: Storage) -> Storage:
    return StorageFactory.create(key="second", template="standard")


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def guid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def line(number: int, type: str = "tag", facet: str = "tags", **changes: Any) -> dict[str, Any]:
    """An unversioned element; None in `changes` takes a key away."""
    document = {
        "facetName": facet,
        "id": guid(number),
        "creationId": guid(number),
        "type": type,
        "attributes": {"name": {"1033": f"Element {number}"}},
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def version(number: int, which: int, state: Any, text: str, type: str = "subProcess", **changes: Any) -> dict[str, Any]:
    return line(
        number,
        type,
        "processes",
        creationId=None,
        versionId=guid(which),
        state=state,
        attributes={"name": {"1033": f"Process {number}"}, "version": {"127": text}},
        **changes,
    )


def reference(number: int, type: str = "tag", facet: str = "tags") -> dict[str, str]:
    return {"facetName": facet, "id": guid(number), "type": type}


def drawn(shape: int, predecessors: Any) -> dict[str, Any]:
    return {"properties": {"shapeId": guid(shape), "predecessors": predecessors}, **reference(1)}


def before(shape: int) -> dict[str, Any]:
    return {"properties": {"shapeId": guid(shape)}}


def html(markup: str) -> dict[str, Any]:
    document = version(2, 3, "released", "1.0")
    text = f'<?xml version="1.0" encoding="utf-8"?>{markup}'
    return {**document, "attributes": {**document["attributes"], "description": {"1033": text}}}


def write(path: Path, *documents: Any) -> str:
    texts = [document if isinstance(document, str) else json.dumps(document) for document in documents]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(path)


def test_the_demo_goes_in_and_comes_out_the_same(house: Storage, second: Storage, tmp_path: Path) -> None:
    """Into one storage, out plain, into a second one of the same installation, out packed: the same bytes."""
    _, err = run("import_storage", "acme", "house", str(DEMO))
    count = len(DEMO.read_text(encoding="utf-8").splitlines())
    assert f"{count} versions" in err
    first, packed = tmp_path / "first.ndjson", tmp_path / "second.ndjson.gz"
    assert run("export_storage", "acme", "house", str(first))[1] == f"acme/house: {count} element versions exported.\n"
    run("import_storage", "acme", "second", str(first))
    run("export_storage", "acme", "second", str(packed))
    assert gzip.decompress(packed.read_bytes()) == first.read_bytes()

    assert sorted(first.read_text(encoding="utf-8").splitlines()) == sorted(
        DEMO.read_text(encoding="utf-8").splitlines()
    )


def test_what_is_stored(house: Storage, tmp_path: Path) -> None:
    """Pointers, order, parents and stamps of a small file, with lines in the wrong order on purpose."""
    file = write(
        tmp_path / "x.ndjson",
        version(2, 12, "inProcess", "1.1", related={"tagFilters": [reference(7), reference(6)]}),
        line(6),
        line(7, attributes={"name": {"1031": "Ärger", "1033": "Zorn"}, "createdOn": {"127": "2026-07-01T12:00:00.5"}}),
        version(1, 10, "released", "1.0", "mainProcess", children=[reference(3, "subProcess", "processes"), reference(2, "subProcess", "processes")]),
        version(2, 11, "released", "1.0", content=[
            {"properties": {"shapeId": guid(50), "predecessors": []}, **reference(20, "task", "processes")},
            {"properties": {"shapeId": guid(51), "predecessors": [{"properties": {"shapeId": guid(50)}}]}, **reference(3, "subProcess", "processes")},
        ]),
        version(3, 13, "inReview", "0.1"),
        line(20, "task", "processes", creationId=guid(19)),
        line(21, "task", "processes"),
    )  # fmt: skip
    assert run("import_storage", "acme", "house", file)[1] == (
        "acme/house: 7 elements, 8 versions, 2 references, 2 shapes imported.\n"
    )
    with tenant_scope(house):
        found = {
            str(row.id)[-2:]: (
                str(row.newest_id)[-2:],
                row.published_id and str(row.published_id)[-2:],
                row.parent_id and str(row.parent_id)[-2:],
                row.position,
                str(row.creation_id)[-2:],
            )
            for row in Element.objects.all()
        }
        assert found == {
            "01": ("10", "10", None, 0, "01"),
            "02": ("12", "11", "01", 1, "02"),
            "03": ("13", None, "01", 0, "03"),
            "06": ("06", "06", None, 0, "06"),
            "07": ("07", "07", None, 0, "07"),
            "20": ("20", "20", "02", 0, "19"),
            "21": ("21", None, None, 0, "21"),
        }
        anger = ElementVersion.objects.get(id=guid(7))
        assert (anger.sort_name, anger.created_on.isoformat(), anger.changed_on) == (
            "zorn",
            "2026-07-01T10:00:00.500000+00:00",
            anger.created_on,
        )
        assert anger.attributes == {"name": {"1031": "Ärger", "1033": "Zorn"}}
        order = Reference.objects.order_by("position").values_list("context", "target_id")
        assert [(context, str(target)) for context, target in order] == [
            ("tagFilters", guid(7)),
            ("tagFilters", guid(6)),
        ]


GOOD = line(1)
BAD: list[tuple[Any, str]] = [
    ("{", "The line is not JSON"),
    ("[]", "expected an object"),
    (line(1, id="x"), "id: 'x' is no GUID"),
    (line(1, type="tga"), "unknown type 'tga'"),
    (line(1, facet="risks"), "the type tag is in the facet tags, not 'risks'"),
    (line(1, surprise=1), "unknown key 'surprise'"),
    (line(1, versionId=guid(9)), "versionId is not possible for tag"),
    (line(1, state="released"), "state is not possible for tag, which has no versions"),
    (version(2, 3, "asleep", "1.0"), "unknown state 'asleep'"),
    (version(2, 3, "released", "one"), "version: must be <major>.<minor>"),
    (line(1, attributes={"nmae": {"1033": "x"}}), "nmae: the type tag has no such attribute"),
    (line(1, attributes={"name": {"127": "x"}}), "name[127]: the culture is not possible; possible: 1031, 1033"),
    (line(1, attributes={"name": {"1033": 5}}), "name[1033]: must be a text"),
    (line(1, attributes={"createdOn": {"127": "yesterday"}}), "createdOn: must be a date-time"),
    (line(1, attributes={"gotoUrl": {"1033": "x"}}), "gotoUrl: is derived and cannot be imported"),
    (line(1, related={"nothing": []}), "nothing: no such context"),
    (line(1, related={"createdBy": [reference(99)]}), "createdBy: there is no element 00000000-0000-0000-0000-000000000099"),
    (version(2, 3, "released", "1.0", related={"owner": [reference(1)]}), "is a tag, expected"),
    (version(2, 3, "released", "1.0", related={"owner": [reference(4, "user", "users")] * 2}), "owner: 2 references, at most 1"),
    (version(2, 3, "released", "1.0", children=[reference(1)]), "children: tag may not stand below subProcess"),
    (version(2, 3, "released", "1.0", children=[reference(2, "subProcess", "processes")]), "its parents go round in a circle"),
    (line(1, content=[{"properties": {"shapeId": guid(5)}, **reference(1)}]), "content: the type tag has no diagram"),
    (version(2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(5)}, **reference(1)}]), "a tag cannot be drawn in this diagram"),
    (version(2, 3, "released", "1.0", related={"tagFilters": [reference(4)]}), "is a user, not a tag"),
    (version(2, 3, "released", "1.0", related={"tagFilters": [reference(1, "tag", "risks")]}), "there is no type 'tag' in the facet 'risks'"),
    (version(2, 3, "released", "1.0", related={"tagFilters": [reference(1)], "owner": [reference(1, "user", "users")]}), "owner: 00000000-0000-0000-0000-000000000001 is a tag, not a user"),
    (version(2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(5), "predecessors": [{"properties": {"shapeId": guid(6)}}]}, **reference(1)}]), "is no shape of this diagram"),
    (version(2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(5)}, **reference(1)}] * 2), "content: a shape stands twice"),
    (line(1, id=5), "id: '5' is no GUID"),
    ({**line(1), "type": ["tag"]}, "unknown type"),
    (line(1, attributes=[]), "attributes must be an object"),
    (line(1, attributes={"name": "x"}), "name: expected values by culture id"),
    (line(1, attributes={"createdOn": {"1033": "2026-01-01T00:00:00"}}), "createdOn: expected one value, for the culture 127"),
    (line(1, attributes={"createdOn": {"127": "0001-01-01T00:00:00"}}), "createdOn: must be between 0001-01-01T00:53:28 and 9999-12-31T23:59:59.999999"),
    (line(1, attributes={"validUntil": {"127": "2026-03-29T02:30:00"}}), "validUntil: does not exist in Europe/Berlin: the clocks are put forward over 2026-03-29T02:30:00 there"),
    (line(1, related={"createdBy": reference(4, "user", "users")}), "createdBy must be a list of references"),
    (line(1, related={"createdBy": [4]}), "createdBy[0]: expected a reference"),
    (line(1, related={"releaseHistory": []}), "releaseHistory: is derived"),
    (version(2, 3, ["released"], "1.0"), "unknown state"),
    (version(2, 3, "released", "1.0", children=[reference(1, "user", "users")]), "children: 00000000-0000-0000-0000-000000000001 is a tag, not a user"),
    (version(2, 3, "released", "1.0", content=[drawn(5, 5)]), "content[0].predecessors must be a list"),
    (version(2, 3, "released", "1.0", content=[drawn(5, [5])]), "content[0].predecessors: expected shapes with properties"),
    (version(2, 3, "released", "1.0", content=[drawn(5, [{"properties": 5}])]), "content[0].predecessors: expected shapes with properties"),
    (version(2, 3, "released", "1.0", content=[drawn(5, [before(5)])]), "precedes itself"),
    (version(2, 3, "released", "1.0", content=[drawn(6, []), drawn(5, [before(6)] * 2)]), "a predecessor of the shape 00000000-0000-0000-0000-000000000005 stands twice"),
    (version(2, 3, "released", "1.0", content=[5]), "content[0]: expected an element with properties"),
    (html("<p onclick='x()'>x</p>"), "description[1033]: must not hold the attribute onclick"),
]  # fmt: skip


def complaints(file: str) -> list[str]:
    err = StringIO()
    with pytest.raises(CommandError, match="nothing was imported"):
        call_command("import_storage", "acme", "house", file, stderr=err)
    return err.getvalue().splitlines()


def test_bad_lines(house: Storage, tmp_path: Path) -> None:
    """One storage for all of them: provisioning one for each would take a minute."""
    for bad, problem in BAD:
        rest = [] if isinstance(bad, dict) and bad.get("id") == GOOD["id"] else [GOOD]
        told = complaints(write(tmp_path / "x.ndjson", line(8), bad, *rest, line(4, "user", "users")))
        assert any(text.startswith("line 2: ") and problem in text for text in told), (problem, told)
        with tenant_scope(house):
            assert not Element.objects.exists()


def test_every_bad_line_is_told_at_once_and_in_order(house: Storage, tmp_path: Path) -> None:
    lines = [bad for bad, _ in BAD]
    file = write(tmp_path / "x.ndjson", *lines)
    err = StringIO()
    with pytest.raises(CommandError, match=r"problem\(s\); nothing was imported"):
        call_command("import_storage", "acme", "house", file, stderr=err)
    numbers = [int(text.split(":")[0].removeprefix("line ")) for text in err.getvalue().splitlines()]
    assert set(numbers) == set(range(1, len(lines) + 1))
    assert numbers == sorted(numbers)


CONTRADICTIONS: list[tuple[list[Any], str]] = [
    ([line(1), line(1)], "the version stands twice"),
    ([version(2, 3, "released", "1.0"), version(2, 4, "inEffect", "2.0")], "is published, too"),
    ([version(2, 3, "inProcess", "1.0"), version(2, 4, "inReview", "2.0")], "is in process, too"),
    ([version(2, 3, "expired", "1.0"), version(2, 4, "released", "1.0")], "has the number 1.0, too"),
    (
        [version(2, 3, "expired", "1.0"), version(2, 4, "released", "1.1"), version(2, 5, "expired", "1.0")],
        f"line 3: {guid(5)}: another version has the number 1.0, too",
    ),
    ([version(2, 3, "released", "1.0"), version(2, 4, "inProcess", "1.1", "mainProcess")], "is of the type subProcess"),
    ([version(2, 2, "released", "1.0")], "the versionId is the id of an element"),
    ([version(2, 3, "released", "1.0"), line(3)], "the version stands twice"),
    ([version(2, 3, "released", "1.0"), version(3, 4, "released", "1.0")], "the versionId is the id of an element"),
    (
        [line(1, related={"createdBy": [reference(7)]}), line(7)],
        f"createdBy: {guid(7)} is a tag, expected a type of the facet users",
    ),
    (
        [
            version(2, 3, "expired", "1.0", "mainProcess", children=[reference(5, "subProcess", "processes")]),
            version(2, 4, "released", "2.0", "mainProcess"),
            version(5, 6, "released", "1.0"),
        ],
        "children stand with the newest version only",
    ),
    (
        [
            version(2, 3, "released", "1.0", "mainProcess", children=[reference(5, "subProcess", "processes")]),
            version(4, 7, "released", "1.0", "mainProcess", children=[reference(5, "subProcess", "processes")]),
            version(5, 6, "released", "1.0"),
        ],
        "has another parent",
    ),
]


def test_lines_that_contradict_each_other(house: Storage, tmp_path: Path) -> None:
    for documents, problem in CONTRADICTIONS:
        told = complaints(write(tmp_path / "x.ndjson", *documents))
        assert any(problem in text for text in told), (problem, told)


def test_what_is_there_already_is_not_imported_again_but_may_be_referred_to(house: Storage, tmp_path: Path) -> None:
    run("import_storage", "acme", "house", write(tmp_path / "a.ndjson", line(1)))
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("import_storage", "acme", "house", write(tmp_path / "a.ndjson", line(1)), stderr=err)
    assert err.getvalue() == f"line 1: {guid(1)}: the element is in the storage already\n"
    more = version(2, 3, "released", "1.0", related={"tagFilters": [reference(1)]})
    assert "1 references" in run("import_storage", "acme", "house", write(tmp_path / "b.ndjson", more))[1]


def test_ids_of_versions_and_shapes_that_the_storage_has_already(house: Storage, tmp_path: Path) -> None:
    first = version(
        2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(50)}, **reference(9, "task", "processes")}]
    )
    run("import_storage", "acme", "house", write(tmp_path / "a.ndjson", first, line(9, "task", "processes")))
    second = [
        version(4, 3, "released", "1.0"),
        version(
            5,
            6,
            "released",
            "1.0",
            content=[{"properties": {"shapeId": guid(50)}, **reference(9, "task", "processes")}],
        ),
    ]
    for words in ([], ["--dry-run"]):
        err = StringIO()
        with pytest.raises(CommandError, match="3 problem"):
            call_command("import_storage", "acme", "house", write(tmp_path / "b.ndjson", *second), *words, stderr=err)
        assert err.getvalue().splitlines() == [
            f"line 1: {guid(3)}: the version is in the storage already, of another element",
            f"line 2: the shape {guid(50)} is in the storage already",
            f"line 2: {guid(6)}: content: {guid(9)} lives in a diagram of the storage already",
        ]


def test_odd_texts_and_times_come_back_as_they_were(house: Storage, tmp_path: Path) -> None:
    """Characters that mean something to COPY, local times at both ends, a repeated hour, a target named twice."""
    stamps = {"changedOn": {"127": "9999-12-31T23:59:59.999999"}, "createdOn": {"127": "0001-01-01T01:00:00"}}
    odd = 'tab\t back\\slash \\N \\. quote" ä😀'
    tag = line(1, attributes={**stamps, "name": {"1033": odd}}, stereotype=odd)
    long = line(2, attributes={**stamps, "name": {"1033": "".join(chr(0x4E00 + number) for number in range(20_000))}})
    process = version(3, 4, "released", "1.0", related={"tagFilters": [reference(1), reference(1)]})
    twice = {"changedOn": {"127": "2026-10-25T02:30:00"}, "createdOn": {"127": "1850-06-01T00:00:00"}}
    process["attributes"] = {**twice, "purp": {"1033": "a\nb\r\nc\\n"}, "version": {"127": "1.0"}}
    file, out = tmp_path / "in.ndjson", tmp_path / "out.ndjson"
    run("import_storage", "acme", "house", write(file, tag, long, process))
    run("export_storage", "acme", "house", str(out))
    key = lambda document: document["id"]  # noqa: E731
    exported = sorted((json.loads(text) for text in out.read_text(encoding="utf-8").splitlines()), key=key)
    assert exported == [tag, long, process]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a document with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


@pytest.mark.long
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scaled(150), deadline=None)
@given(data=st.data())
def test_whatever_stands_in_a_line_it_is_a_line_or_a_problem(house: Storage, data: st.DataObject) -> None:
    reader = LineReader(configuration_of(house), ZoneInfo(house.time_zone))
    survey = Survey(reader.configuration.types)
    rows = ImportRows()
    for number in (1, 2):
        document = json.loads(data.draw(st.sampled_from(DEMO_LINES)))
        for _ in range(data.draw(st.integers(0, 3))):
            holder, key = data.draw(st.sampled_from(list(places(document))))
            holder[key] = data.draw(JSON)
        problems: list[str] = []
        found = reader.read(json.dumps(document).encode(), problems.append)
        assert (found is None) == bool(problems)
        if found is not None and survey.add(number, found):
            RowMaker(reader.configuration, timezone.now()).add(found, rows)
    survey.finish({}, [], [])


def test_a_dry_run_counts_and_writes_nothing(house: Storage) -> None:
    _, dry = run("import_storage", "acme", "house", str(DEMO), "--dry-run")
    with tenant_scope(house):
        assert not Element.objects.exists()
    _, real = run("import_storage", "acme", "house", str(DEMO))
    assert dry.replace("would be imported", "imported") == real
    with tenant_scope(house):
        assert Shape.objects.exists()


def test_standard_input_and_output(house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Streams:
        buffer = io.BytesIO(json.dumps(line(1)).encode())

    monkeypatch.setattr(sys, "stdin", Streams)
    run("import_storage", "acme", "house", "-")

    class Output:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Output)
    run("export_storage", "acme", "house", "-")
    exported = json.loads(Output.buffer.getvalue())
    assert exported.pop("attributes")["name"] == {"1033": "Element 1"}
    assert exported == {"facetName": "tags", "id": guid(1), "creationId": guid(1), "type": "tag"}


def test_ids_that_would_address_two_things(house: Storage, tmp_path: Path) -> None:
    run("import_storage", "acme", "house", write(tmp_path / "a.ndjson", version(2, 3, "released", "1.0"), line(4)))
    told = complaints(write(tmp_path / "b.ndjson", line(3), version(5, 4, "released", "1.0")))
    assert told == [
        f"line 1: {guid(3)}: the version is in the storage already, of another element",
        f"line 2: {guid(4)}: the version is in the storage already, of another element",
        f"line 2: {guid(4)}: the versionId is the id of an element",
    ]
    told = complaints(write(tmp_path / "c.ndjson", version(3, 8, "released", "1.0")))
    assert told == [f"line 1: {guid(3)}: is the id of a version in the storage"]


def test_an_export_goes_where_it_is_sent(house: Storage, tmp_path: Path) -> None:
    """A link is followed, a pipe is written to; neither is replaced by a file."""
    run("import_storage", "acme", "house", write(tmp_path / "a.ndjson", line(1)))
    real, link, pipe = tmp_path / "real.ndjson", tmp_path / "link.ndjson", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    run("export_storage", "acme", "house", str(link))
    assert link.is_symlink()
    assert guid(1) in real.read_text()
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    run("export_storage", "acme", "house", str(pipe))
    assert reader.communicate(timeout=10)[0] == real.read_bytes()
    assert pipe.is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.ndjson", "link.ndjson", "pipe", "real.ndjson"]


def test_a_reader_that_has_enough_is_no_failure(house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    run("import_storage", "acme", "house", str(DEMO))
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        with pytest.raises(SystemExit) as ended:
            run("export_storage", "acme", "house", "-")
    assert ended.value.code == 141


def test_files_that_cannot_be_read_or_written(house: Storage, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gz"
    broken.write_bytes(b"no gzip")
    damaged = tmp_path / "damaged.gz"
    packed = bytearray(gzip.compress(DEMO.read_bytes()))
    packed[len(packed) // 2 : len(packed) // 2 + 50] = bytes(50)
    damaged.write_bytes(packed)
    for words, problem in (
        (["import_storage", "acme", "house", str(tmp_path / "none")], "cannot be read: No such file"),
        (["import_storage", "acme", "house", str(broken)], "cannot be read: Not a gzipped file"),
        (["import_storage", "acme", "house", str(damaged)], "cannot be read: "),
        (["export_storage", "acme", "house", str(tmp_path / "none" / "x")], "cannot be written: No such file"),
        (["export_storage", "acme", "none", "x"], "There is no storage acme/none"),
    ):
        with pytest.raises(CommandError, match=problem):
            run(*words)


@pytest.mark.parametrize(
    "digits", ["0.10000000000000000555", "123456789012345678901234567890", f"1{'0' * 400}", "-1.5"]
)
def test_decimals_keep_their_digits(house: Storage, tmp_path: Path, api: ApiClient, digits: str) -> None:
    exact = '{"facetName":"kpi","id":"%s","versionId":"%s","type":"kPI","state":"inProcess","attributes":{"changedOn":{"127":"2026-01-01T00:00:00"},"createdOn":{"127":"2026-01-01T00:00:00"},"targetValue":{"127":%s},"version":{"127":"0.1"}}}'  # fmt: skip
    text = exact % (guid(1), guid(2), digits)
    file, out = tmp_path / "in.ndjson", tmp_path / "out.ndjson"
    file.write_text(text + "\n")
    run("import_storage", "acme", "house", str(file))
    run("export_storage", "acme", "house", str(out))
    assert out.read_text() == text + "\n"
    # Whatever is asked of the element: the number is never in the way.
    token = token_for(house, Role.EDITOR)
    element = f"/acme/house/_api/rest/facets/kpi/views/detail/elements/{guid(1)}"
    assert f'"targetValue":{{"127":{digits}}}'.encode() in api.get(element, token=token).content
    for address in (f"{element}?$select=name", f"{element}/info", f"{element}/attributes/name"):
        assert api.get(address, token=token).status_code == 200, address


def test_another_storage_sees_nothing_of_it(house: Storage, second: Storage) -> None:
    run("import_storage", "acme", "house", str(DEMO))
    with tenant_scope(second):
        assert (Element.objects.count(), ElementVersion.objects.count(), Reference.objects.count()) == (0, 0, 0)
