"""Importing a transfer file: first everything is checked, then everything is written, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.utils import timezone

from elements.models import Element, ElementVersion, Reference, Shape, ShapeFlow
from elements.transfer.checking import Survey
from elements.transfer.files import LineStore, read_lines
from elements.transfer.lines import CALLERS, Line, LineReader
from facets.blueprint import ElementType
from facets.configuration import Configuration, configuration_of
from repository_site.problems import Invalid
from repository_site.progress import with_progress
from repository_site.rest.rendering import to_json
from storage.bulk import copy_rows
from storage.models import Storage
from storage.tenancy import tenant_scope

BATCH = 2_000
VERSION_COLUMNS = (
    "id", "element_id", "state", "major", "minor", "stereotype", "attributes", "sort_name", "valid_from", "valid_until",
    "created_on", "created_by_id", "changed_on", "changed_by_id", "released_on", "released_by_id",
)  # fmt: skip


@dataclass(slots=True)
class ImportResult:
    elements: int = 0
    versions: int = 0
    references: int = 0
    shapes: int = 0


def import_elements(storage: Storage, path: str, *, dry_run: bool = False) -> ImportResult:
    """All or nothing; Invalid lists every problem of every line. `path` may be - for standard input."""
    with tenant_scope(storage):
        configuration = configuration_of(storage)
        with closing(LineStore(configuration.types)) as store:
            survey = survey_lines(LineReader(configuration, ZoneInfo(storage.time_zone)), path, store)
            if survey.problems:
                raise Invalid(f"{len(survey.problems)} problem(s); nothing was imported.", survey.problems)
            if dry_run:
                references = sum(len(list(_reference_rows([line]))) for line in store)
                return ImportResult(len(survey.elements), len(survey.versions), references, len(survey.shapes))
            return _Writer(configuration, store, survey).write()


def survey_lines(reader: LineReader, path: str, store: LineStore) -> Survey:
    """Check every line; those that are good by themselves are set aside for writing."""
    survey = Survey()
    for number, raw in with_progress(read_lines(path), "Checking"):
        line = reader.read(raw, lambda text, number=number: survey.report(number, text))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        if line is not None:
            survey.add(number, line)
            store.add(line)
    survey.finish(_types_there(reader.configuration, survey))
    survey.problems.sort(key=lambda text: int(text.split(":")[0].removeprefix("line ")))
    return survey


def _types_there(configuration: Configuration, survey: Survey) -> dict[str, ElementType]:
    """Of the elements the file names, those in the storage already."""
    keys = {row_id: key for key, row_id in configuration.type_ids.items()}
    found: dict[str, ElementType] = {}
    names = iter(survey.targets())
    while batch := list(islice(names, 10_000)):
        rows = Element.objects.filter(id__in=batch).values_list("id", "type_id")
        found.update({str(element): configuration.types[keys[type_id]] for element, type_id in rows})
    return found


class _Writer:
    def __init__(self, configuration: Configuration, store: LineStore, survey: Survey) -> None:
        self.configuration, self.store, self.survey = configuration, store, survey
        self.default_culture = str(configuration.cultures.default)
        self.now = timezone.now()
        self.result = ImportResult()

    def write(self) -> ImportResult:
        self.result.elements = copy_rows(Element, ELEMENT_COLUMNS, self._element_rows())
        lines = with_progress(self.store, "Importing", len(self.survey.versions))
        while batch := list(islice(lines, BATCH)):
            self.result.versions += copy_rows(ElementVersion, VERSION_COLUMNS, map(self._version_row, batch))
            self.result.references += copy_rows(Reference, REFERENCE_COLUMNS, _reference_rows(batch))
            self.result.shapes += copy_rows(Shape, SHAPE_COLUMNS, _shape_rows(batch))
            copy_rows(ShapeFlow, FLOW_COLUMNS, _flow_rows(batch))
        return self.result

    def _element_rows(self) -> Iterator[tuple[Any, ...]]:
        type_ids = self.configuration.type_ids
        for element, known in self.survey.elements.items():
            place = (known.parent, known.position)
            yield (element, known.creation, type_ids[known.type.key], *place, known.newest, known.published)

    def _version_row(self, line: Line) -> tuple[Any, ...]:
        stamps = line.stamps
        created = stamps.get("createdOn", self.now)
        callers = {name: next(iter(line.related.get(name, ())), None) for name in CALLERS}
        return (
            line.version,
            line.element,
            line.state,
            line.major,
            line.minor,
            line.stereotype,
            to_json(line.attributes).decode(),
            sort_name(line.attributes, self.default_culture),
            stamps.get("validFrom"),
            stamps.get("validUntil"),
            created,
            callers["createdBy"],
            stamps.get("changedOn", created),
            callers["changedBy"],
            stamps.get("relOn"),
            callers["relBy"],
        )


ELEMENT_COLUMNS = ("id", "creation_id", "type_id", "parent_id", "position", "newest_id", "published_id")
REFERENCE_COLUMNS = ("id", "version_id", "context", "position", "target_id")
SHAPE_COLUMNS = ("id", "version_id", "element_id", "position")
FLOW_COLUMNS = ("id", "shape_id", "predecessor_id", "position")


def sort_name(attributes: dict[str, dict[str, Any]], default_culture: str) -> str:
    """What lists are ordered by (D9): the name in the default culture, else in any, ignoring case."""
    names = attributes.get("name", {})
    name = names.get(default_culture) or next((names[culture] for culture in sorted(names) if names[culture]), "")
    return str(name).casefold()


def _reference_rows(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    for line in lines:
        for context, targets in line.related.items():
            if context not in CALLERS:
                for position, target in enumerate(targets):
                    yield uuid4(), line.version, context, position, target


def _shape_rows(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    for line in lines:
        for position, shape in enumerate(line.content):
            yield shape.id, line.version, shape.element, position


def _flow_rows(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    for line in lines:
        for shape in line.content:
            for position, predecessor in enumerate(shape.predecessors):
                yield uuid4(), shape.id, predecessor, position
