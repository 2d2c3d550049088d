"""Transfer of a storage: an export has the lines that were imported, byte for byte."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elements.models import Element, ElementVersion, Reference, Shape
from elements.transfer.copy_rows import ImportRows, RowMaker
from elements.transfer.file_checks import Survey
from elements.transfer.lines import LineReader
from facets.configuration import configuration_of
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.transfer_files import DEMO, guid, line, reference, run, version, write
from tests.factories import StorageFactory, token_for
from tests.filled_storages import NOTHING
from tests.scale import first_quick, scaled

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("other_storage")]
DEMO_LINES = DEMO.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker) -> Iterator[Storage]:
    with filled_storage(NOTHING, key="house", template="standard") as storage:
        yield storage


@pytest.fixture
def second(house: Storage) -> Storage:
    return StorageFactory.create(key="second", template="standard")


@pytest.mark.long
def test_an_export_of_the_demo_equals_the_imported_file(house: Storage, second: Storage, tmp_path: Path) -> None:
    """Import, export, import into a second storage of the installation and export as gzip give the same bytes."""
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


def test_import_stores_pointers_order_parents_and_stamps(house: Storage, tmp_path: Path) -> None:
    """The lines come in the wrong order on purpose."""
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


def test_special_characters_and_times_survive_the_transfer(house: Storage, tmp_path: Path) -> None:
    """Special characters of COPY, the first and last local times, a repeated hour, and a target that occurs twice."""
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
    """Return every container in a document with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


@pytest.mark.long
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=scaled(150),
    deadline=None,
)
@given(data=st.data())
def test_a_random_line_is_read_or_reported(house: Storage, data: st.DataObject) -> None:
    reader = LineReader(configuration_of(house), ZoneInfo(house.time_zone))
    with closing(Survey(reader.configuration.types)) as survey:
        read_random_lines(reader, survey, data)


def read_random_lines(reader: LineReader, survey: Survey, data: st.DataObject) -> None:
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
    survey.finish([], [], [])


@pytest.mark.long
@pytest.mark.on_cluster
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


def test_export_to_links_and_pipes(house: Storage, tmp_path: Path) -> None:
    """Export follows links and writes to pipes; it replaces neither by a file."""
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
    assert reader.communicate(timeout=60)[0] == real.read_bytes()
    assert pipe.is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.ndjson", "link.ndjson", "pipe", "real.ndjson"]


@pytest.mark.long
@pytest.mark.on_cluster
def test_export_ends_quietly_when_its_reader_stops(house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    run("import_storage", "acme", "house", str(DEMO))
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        with pytest.raises(SystemExit) as ended:
            run("export_storage", "acme", "house", "-")
    assert ended.value.code == 141


@pytest.mark.parametrize(
    "digits", first_quick(["0.10000000000000000555", "123456789012345678901234567890", f"1{'0' * 400}", "-1.5"])
)
def test_decimals_keep_their_digits(house: Storage, tmp_path: Path, api: ApiClient, digits: str) -> None:
    exact = '{"facetName":"kpi","id":"%s","versionId":"%s","type":"kPI","state":"inProcess","attributes":{"changedOn":{"127":"2026-01-01T00:00:00"},"createdOn":{"127":"2026-01-01T00:00:00"},"targetValue":{"127":%s},"version":{"127":"0.1"}}}'  # fmt: skip
    text = exact % (guid(1), guid(2), digits)
    file, out = tmp_path / "in.ndjson", tmp_path / "out.ndjson"
    file.write_text(text + "\n")
    run("import_storage", "acme", "house", str(file))
    run("export_storage", "acme", "house", str(out))
    assert out.read_text() == text + "\n"
    # The number does not disturb any operation on the element.
    token = token_for(house, Role.EDITOR)
    element = f"/acme/house/_api/rest/facets/kpi/views/detail/elements/{guid(1)}"
    assert f'"targetValue":{{"127":{digits}}}'.encode() in api.get(element, token=token).content
    for address in (f"{element}?$select=name", f"{element}/info", f"{element}/attributes/name"):
        assert api.get(address, token=token).status_code == 200, address


@pytest.mark.long
@pytest.mark.on_cluster
def test_an_import_does_not_reach_another_storage(house: Storage, second: Storage) -> None:
    run("import_storage", "acme", "house", str(DEMO))
    with tenant_scope(second):
        assert (Element.objects.count(), ElementVersion.objects.count(), Reference.objects.count()) == (0, 0, 0)
