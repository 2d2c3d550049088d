"""Problems of transfer files: each names its line, equal ones are grouped, and nothing is imported."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from elements.models import Element
from elements.transfer import file_facts
from elements.transfer.problem_summary import MAX_KINDS, summarize
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.transfer_files import DEMO, before, drawn, guid, html, line, reference, run, version, write
from tests.filled_storages import NOTHING

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker) -> Iterator[Storage]:
    with filled_storage(NOTHING, key="house", template="standard") as storage:
        yield storage


GOOD = line(1)
BAD: list[tuple[Any, str]] = [
    ("{", "The line is not JSON"),
    ("[]", "expected a JSON object"),
    (line(1, id="x"), "id: 'x' is not a GUID"),
    (line(1, type="tga"), "unknown type 'tga'"),
    (line(1, facet="risks"), "the type tag is in the facet tags, not 'risks'"),
    (line(1, surprise=1), "unknown key 'surprise'"),
    (line(1, versionId=guid(9)), "versionId is not allowed for tag"),
    (line(1, state="released"), "state is not allowed for tag, which has no versions"),
    (version(2, 3, "asleep", "1.0"), "unknown state 'asleep'"),
    (version(2, 3, "released", "one"), "version: must be <major>.<minor>"),
    (line(1, attributes={"nmae": {"1033": "x"}}), "nmae: the type tag has no such attribute"),
    (line(1, attributes={"name": {"127": "x"}}), "name[127]: this culture is not allowed here; use 1031 or 1033"),
    (line(1, attributes={"name": {"1033": 5}}), "name[1033]: must be text"),
    (line(1, attributes={"createdOn": {"127": "yesterday"}}), "createdOn: must be a date-time"),
    (line(1, attributes={"gotoUrl": {"1033": "x"}}), "gotoUrl: is derived and cannot be imported"),
    (line(1, related={"nothing": []}), "nothing: the type tag has no such related context"),
    (line(1, related={"createdBy": [reference(99)]}), "createdBy: there is no element 00000000-0000-0000-0000-000000000099"),
    (version(2, 3, "released", "1.0", related={"owner": [reference(1)]}), "has the type tag; expected"),
    (version(2, 3, "released", "1.0", related={"owner": [reference(4, "user", "users")] * 2}), "owner: 2 references; at most 1"),
    (version(2, 3, "released", "1.0", children=[reference(1)]), "children: elements of type tag cannot be placed below elements of type subProcess"),
    (version(2, 3, "released", "1.0", children=[reference(2, "subProcess", "processes")]), "its parents form a cycle"),
    (line(1, content=[{"properties": {"shapeId": guid(5)}, **reference(1)}]), "content: the type tag has no diagram"),
    (version(2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(5)}, **reference(1)}]), "elements of type tag cannot be drawn in this diagram"),
    (version(2, 3, "released", "1.0", related={"tagFilters": [reference(4)]}), "has the type user, not tag"),
    (version(2, 3, "released", "1.0", related={"tagFilters": [reference(1, "tag", "risks")]}), "there is no type 'tag' in the facet 'risks'"),
    (version(2, 3, "released", "1.0", related={"tagFilters": [reference(1)], "owner": [reference(1, "user", "users")]}), "owner: 00000000-0000-0000-0000-000000000001 has the type tag, not user"),
    (version(2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(5), "predecessors": [{"properties": {"shapeId": guid(6)}}]}, **reference(1)}]), "is not a shape of this diagram"),
    (version(2, 3, "released", "1.0", content=[{"properties": {"shapeId": guid(5)}, **reference(1)}] * 2), "content: two shapes have the same id"),
    (line(1, id=5), "id: '5' is not a GUID"),
    ({**line(1), "type": ["tag"]}, "unknown type"),
    (line(1, attributes=[]), "attributes must be an object"),
    (line(1, attributes={"name": "x"}), 'name: expected values by culture, such as {"1033": "Order parts"}'),
    (line(1, attributes={"createdOn": {"1033": "2026-01-01T00:00:00"}}), "createdOn: expected one value, for the culture 127"),
    (line(1, attributes={"createdOn": {"127": "0001-01-01T00:00:00"}}), "createdOn: must be between 0001-01-01T00:53:28 and 9999-12-31T23:59:59.999999"),
    (line(1, attributes={"validUntil": {"127": "2026-03-29T02:30:00"}}), "validUntil: does not exist in Europe/Berlin: clocks are set forward past 2026-03-29T02:30:00 there"),
    (line(1, related={"createdBy": reference(4, "user", "users")}), "createdBy must be a list of references"),
    (line(1, related={"createdBy": [4]}), "createdBy[0]: expected a reference"),
    (line(1, related={"releaseHistory": []}), "releaseHistory: is derived"),
    (version(2, 3, ["released"], "1.0"), "unknown state"),
    (version(2, 3, "released", "1.0", children=[reference(1, "user", "users")]), "children: 00000000-0000-0000-0000-000000000001 has the type tag, not user"),
    (version(2, 3, "released", "1.0", content=[drawn(5, 5)]), "content[0].predecessors must be a list"),
    (version(2, 3, "released", "1.0", content=[drawn(5, [5])]), "content[0].predecessors: expected shapes with properties"),
    (version(2, 3, "released", "1.0", content=[drawn(5, [{"properties": 5}])]), "content[0].predecessors: expected shapes with properties"),
    (version(2, 3, "released", "1.0", content=[drawn(5, [before(5)])]), "precedes itself"),
    (version(2, 3, "released", "1.0", content=[drawn(6, []), drawn(5, [before(6)] * 2)]), "the shape 00000000-0000-0000-0000-000000000005 has the same predecessor twice"),
    (version(2, 3, "released", "1.0", content=[5]), "content[0]: expected an element with properties"),
    (html("<p onclick='x()'>x</p>"), "description[1033]: must not contain the attribute onclick (line 1, column 1)"),
]  # fmt: skip


def problems_of(file: str) -> list[str]:
    """Return all problems of a file, which refuses the import."""
    full = Path(f"{file}.problems")
    with pytest.raises(CommandError, match=rf"nothing was imported. All problems are in {full}\."):
        call_command("import_storage", "acme", "house", file, "--problems", str(full), stderr=StringIO())
    return full.read_text(encoding="utf-8").splitlines()


@pytest.mark.long
def test_bad_lines(house: Storage, tmp_path: Path) -> None:
    """One storage serves for all of them, because provisioning takes a second."""
    for bad, problem in BAD:
        rest = [] if isinstance(bad, dict) and bad.get("id") == GOOD["id"] else [GOOD]
        found = problems_of(write(tmp_path / "x.ndjson", line(8), bad, *rest, line(4, "user", "users")))
        assert any(text.startswith("line 2: ") and problem in text for text in found), (problem, found)
        with tenant_scope(house):
            assert not Element.objects.exists()


def test_all_bad_lines_are_reported_in_order(house: Storage, tmp_path: Path) -> None:
    lines = [bad for bad, _ in BAD]
    file = write(tmp_path / "x.ndjson", *lines)
    numbers = [int(text.split(":")[0].removeprefix("line ")) for text in problems_of(file)]
    assert set(numbers) == set(range(1, len(lines) + 1))
    assert numbers == sorted(numbers)


CONTRADICTIONS: list[tuple[list[Any], str]] = [
    ([line(1), line(1)], "the file contains this version twice"),
    ([version(2, 3, "released", "1.0"), version(2, 4, "inEffect", "2.0")], "is also published"),
    ([version(2, 3, "inProcess", "1.0"), version(2, 4, "inReview", "2.0")], "is also in process"),
    ([version(2, 3, "expired", "1.0"), version(2, 4, "released", "1.0")], "also has the number 1.0"),
    (
        [version(2, 3, "expired", "1.0"), version(2, 4, "released", "1.1"), version(2, 5, "expired", "1.0")],
        f"line 3: {guid(5)}: another version also has the number 1.0",
    ),
    ([version(2, 3, "released", "1.0"), version(2, 4, "inProcess", "1.1", "mainProcess")], "has the type subProcess"),
    ([version(2, 2, "released", "1.0")], "the versionId is the id of an element"),
    ([version(2, 3, "released", "1.0"), line(3)], "the file contains this version twice"),
    ([version(2, 3, "released", "1.0"), version(3, 4, "released", "1.0")], "the versionId is the id of an element"),
    (
        [line(1, related={"createdBy": [reference(7)]}), line(7)],
        f"createdBy: {guid(7)} has the type tag; expected a type of the facet users",
    ),
    (
        [
            version(2, 3, "expired", "1.0", "mainProcess", children=[reference(5, "subProcess", "processes")]),
            version(2, 4, "released", "2.0", "mainProcess"),
            version(5, 6, "released", "1.0"),
        ],
        "only the newest version can have children",
    ),
    (
        [
            version(2, 3, "released", "1.0", "mainProcess", children=[reference(5, "subProcess", "processes")]),
            version(4, 7, "released", "1.0", "mainProcess", children=[reference(5, "subProcess", "processes")]),
            version(5, 6, "released", "1.0"),
        ],
        "also has the parent",
    ),
]


def test_lines_that_contradict_each_other(house: Storage, tmp_path: Path) -> None:
    for documents, problem in CONTRADICTIONS:
        found = problems_of(write(tmp_path / "x.ndjson", *documents))
        assert any(problem in text for text in found), (problem, found)


def test_each_cycle_is_reported_once(house: Storage, tmp_path: Path) -> None:
    """The first line that leads to it is named, also if its element is below the cycle and not part of it."""

    def process(number: int, *children: int) -> dict[str, Any]:
        below = [reference(child, "subProcess", "processes") for child in children]
        return version(number, 100 + number, "released", "1.0", "subProcess", children=below)

    lines = [process(1), process(2, 3), process(3, 4, 1), process(4, 2), process(5, 6), process(6), process(7, 7)]
    assert problems_of(write(tmp_path / "x.ndjson", *lines)) == [
        f"line 1: {guid(1)}: its parents form a cycle",
        f"line 7: {guid(7)}: its parents form a cycle",
    ]


def test_facts_of_a_large_file_are_written_in_portions(
    house: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [bad for bad, _ in BAD]
    file = write(tmp_path / "x.ndjson", *lines, *(bad for group, _ in CONTRADICTIONS for bad in group))
    whole = problems_of(file)
    monkeypatch.setattr(file_facts, "MOST_REFERENCES", 2)
    assert problems_of(file) == whole
    monkeypatch.setattr(file_facts, "MOST_REFERENCES", 20_000)
    monkeypatch.setattr(file_facts, "MOST_LINES", 3)
    assert problems_of(file) == whole


def test_a_full_disk_stops_an_import(house: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_facts, "SCHEMA", f"PRAGMA max_page_count = 30; {file_facts.SCHEMA}")
    with pytest.raises(CommandError) as raised:
        run("import_storage", "acme", "house", str(DEMO))
    assert str(raised.value) == (
        "The temporary file of the import cannot be written: database or disk is full. Free space in the folder for"
        " temporary files, or set TMPDIR to another one."
    )
    with tenant_scope(house):
        assert not Element.objects.exists()


def test_existing_elements_are_not_imported_again_but_can_be_referred_to(house: Storage, tmp_path: Path) -> None:
    run("import_storage", "acme", "house", write(tmp_path / "a.ndjson", line(1)))
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("import_storage", "acme", "house", write(tmp_path / "a.ndjson", line(1)), stderr=err)
    assert err.getvalue() == f"line 1: {guid(1)}: the storage already has this element\n"
    more = version(2, 3, "released", "1.0", related={"tagFilters": [reference(1)]})
    assert "1 references" in run("import_storage", "acme", "house", write(tmp_path / "b.ndjson", more))[1]


def test_existing_ids_of_versions_and_shapes_are_refused(house: Storage, tmp_path: Path) -> None:
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
            f"line 1: {guid(3)}: the storage already has this version, of another element",
            f"line 2: the storage already has the shape {guid(50)}",
            f"line 2: {guid(6)}: content: {guid(9)} already belongs to a diagram of the storage",
        ]


def test_an_id_addresses_one_element_or_version(house: Storage, tmp_path: Path) -> None:
    run("import_storage", "acme", "house", write(tmp_path / "a.ndjson", version(2, 3, "released", "1.0"), line(4)))
    found = problems_of(write(tmp_path / "b.ndjson", line(3), version(5, 4, "released", "1.0")))
    assert found == [
        f"line 1: {guid(3)}: the storage already has this version, of another element",
        f"line 2: {guid(4)}: the storage already has this version, of another element",
        f"line 2: {guid(4)}: the versionId is the id of an element",
    ]
    found = problems_of(write(tmp_path / "c.ndjson", version(3, 8, "released", "1.0")))
    assert found == [f"line 1: {guid(3)}: the storage has a version with this id"]


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


class TestProblemSummary:
    def test_groups_problems_of_a_kind(self) -> None:
        problems = [f"line {number}: {guid(number)}: unknown type 'x{number}'" for number in range(1, 9)]
        problems.insert(3, "line 4: expected a JSON object")
        assert list(summarize(problems)) == [
            f"line 1: {guid(1)}: unknown type 'x1'",
            "    7 more of this kind: lines 2, 3, 4, 5, 6, ...",
            "line 4: expected a JSON object",
        ]

    def test_shows_a_limited_number_of_kinds(self) -> None:
        letters = [chr(ord("A") + number) * 2 for number in range(MAX_KINDS + 2)]
        problems = [f"line 1: {each}" for each in letters]
        assert list(summarize([*problems, problems[-1]])) == [
            *problems[:MAX_KINDS],
            "3 more problems of 2 other kinds",
        ]

    def test_of_a_wrong_file_is_short(self, house: Storage, tmp_path: Path) -> None:
        file, err = write(tmp_path / "x.ndjson", *(line(number, "widget") for number in range(1_200))), StringIO()
        with pytest.raises(CommandError) as refused:
            call_command("import_storage", "acme", "house", file, stderr=err)
        assert str(refused.value) == (
            "1,200 problems; nothing was imported. Write all problems to a file with --problems FILE."
        )
        assert err.getvalue().splitlines() == [
            f"line 1: {guid(0)}: unknown type 'widget'; the storage has no such type",
            "    1,199 more of this kind: lines 2, 3, 4, 5, 6, ...",
        ]

    def test_a_file_for_the_problems_that_cannot_be_written(self, house: Storage, tmp_path: Path) -> None:
        file = write(tmp_path / "x.ndjson", "{")
        with pytest.raises(CommandError, match=r"/none/x cannot be written: No such file or directory\."):
            call_command(
                "import_storage", "acme", "house", file, "--problems", str(tmp_path / "none/x"), stderr=StringIO()
            )
