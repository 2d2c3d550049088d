"""Tables of a storage in files, for the command: what a file would change, and its import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from elements.reading.assembly.assembler import Reader
from elements.reading.rows import Audience
from elements.tables.columns import Column, ColumnKind
from elements.tables.csv_reading import read_csv
from elements.tables.formats import TableFormat
from elements.tables.importing import ImportChoices, TableReport, import_table, plan_import
from elements.tables.mapping import known_columns, map_columns, remembered_columns, wanted_columns
from elements.tables.read_tables import LARGEST, ReadTable, TableBounds
from elements.tables.xlsx_reading import read_xlsx
from elements.writing.writers import settled_writer
from repository_site.core.problems import Invalid, NotFound, TooLarge
from repository_site.core.wording import listed, printable, similar_hint
from storage.access.callers import Caller, CallerKind
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope

CALLER = Caller(CallerKind.STAFF, "import_table", frozenset(Role))
MOST_BYTES = 50 * 1024 * 1024
ARCHIVE = b"PK"
# Elements that an import is restricted to.
NEW, EXISTING = "new", "existing"


def read_file(path: Path) -> ReadTable:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TooLarge(_("%(path)s: the file has more than %(most)d bytes.") % {"path": path, "most": MOST_BYTES})
        return read_any(path.read_bytes(), path.name)
    except OSError as problem:
        raise NotFound(f"{path}: {problem.strerror or problem}.") from None


def read_any(data: bytes, name: str, bounds: TableBounds = LARGEST) -> ReadTable:
    """Read a workbook or csv. The content decides, since names of files are often wrong."""
    if data.startswith(ARCHIVE):
        return read_xlsx(data, bounds)
    if name.lower().endswith(f".{TableFormat.XLSX}"):
        raise Invalid(_("The file is not a workbook. Save it as Excel workbook (xlsx) or as CSV UTF-8."))
    return read_csv(data, bounds)


def key_column(known: Mapping[str, Column], name: str) -> Column | None:
    """Return the attribute by which an import finds elements; None without a name."""
    if not name:
        return None
    values = {header: each for header, each in known.items() if each.kind is ColumnKind.VALUE}
    if name not in values:
        words = {"name": printable(name, 100), "hint": similar_hint(name, values)}
        raise Invalid(_("%(name)s is not an attribute%(hint)s. Name a column such as name[1033].") % words)
    return values[name]


def import_choices(known: Mapping[str, Column], key: str, type: str, only: str) -> ImportChoices:
    """Return choices as people make them."""
    return ImportChoices(key_column(known, key), type, creates=only != EXISTING, updates=only != NEW)


@dataclass(frozen=True, slots=True)
class TableFile:
    storage: Storage
    table: ReadTable

    def run(self, key: str, type: str, only: str = "", *, dry_run: bool) -> TableReport:
        """Plan or import the table in one transaction."""
        with tenant_scope(self.storage), transaction.atomic():
            writer = settled_writer(self.storage, CALLER, "")
            configuration = writer.configuration
            if type and type not in configuration.types:
                raise Invalid(f"There is no type {printable(type, 100)}; use {listed([*configuration.types], 'or')}.")
            address = f"{settings.PUBLIC_URL}/{self.storage.collection.key}/{self.storage.key}"
            reader = Reader(configuration, Audience(True), ZoneInfo(self.storage.time_zone), address)
            known, headers = known_columns(configuration), self.table.headers
            mapping = map_columns(headers, wanted_columns(headers, known, remembered_columns()))
            choices = import_choices(known, key, type, only)
            return (plan_import if dry_run else import_table)(writer, reader, self.table, mapping, choices)
