"""Content that uses a data culture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from repository_site.core.database.statements import fetch

# Values of a version in a culture, and texts of its diagram.
IN_VERSION = """(v.attributes @? ('$.*."' || %s::text || '"')::jsonpath)"""
DRAWN = """SELECT l.version_id FROM elements_lane l WHERE l.name ? %s::text
    UNION SELECT s.version_id FROM elements_shapeflow f JOIN elements_shape s ON s.id = f.shape_id
        WHERE f.label ? %s::text"""
_COUNT = f"""SELECT (SELECT count(*) FROM elements_elementversion v WHERE {IN_VERSION}),
    (SELECT count(*) FROM ({DRAWN}) d),
    (SELECT count(*) FROM elements_appearance p WHERE p.titles ? %s::text OR p.intros ? %s::text),
    (SELECT count(*) FROM elements_permalink k WHERE k.culture = %s::int)"""  # noqa: S608  constants
# Rows of each of these tables that an estimate tests, in about 20 ms.
TESTED = 20_000
_TESTED_TABLES = {"v": "elements_elementversion", "l": "elements_lane", "f": "elements_shapeflow"}


def _estimate() -> str:
    """Return the statement that counts uses in a part of the rows, and says whether there are more rows."""
    found = _COUNT
    for name, table in _TESTED_TABLES.items():
        # For this order, PostgreSQL reads an index that begins with the storage. Otherwise it may first read the rows
        # of other storages, which it then ignores.
        part = f"(SELECT * FROM {table} {name} ORDER BY {name}.id LIMIT {TESTED}) {name}"  # noqa: S608  constants
        found = found.replace(f"{table} {name}", part)
    more = [f"EXISTS (SELECT 1 FROM {table} t ORDER BY t.id OFFSET {TESTED})" for table in _TESTED_TABLES.values()]  # noqa: S608  constants
    return f"{found}, {' OR '.join(more)}"


_ESTIMATE = _estimate()


@dataclass(frozen=True, slots=True)
class CultureUses:
    versions: int
    diagrams: int
    appearances: int
    permalinks: int
    may_be_more: bool = False

    def __bool__(self) -> bool:
        return any(astuple(self)[:-1])

    def texts(self) -> Iterator[str]:
        """Yield a phrase for each kind of use."""
        if self.versions:
            yield _("versions with values: %(count)s") % {"count": _grouped(self.versions)}
        if self.diagrams:
            yield _("diagrams with texts: %(count)s") % {"count": _grouped(self.diagrams)}
        if self.appearances:
            yield _("title or introduction of the reader pages")
        if self.permalinks:
            yield _("permalinks: %(count)s") % {"count": _grouped(self.permalinks)}


def _grouped(number: int) -> str:
    return number_format(number, force_grouping=True)


def find_uses(lcid: int, *, is_estimate: bool = False) -> CultureUses:
    """Count the uses of a culture in the storage of the scope. Texts of the configuration do not count: a template
    may have more languages than the storage, and pages show them again if the culture returns.

    An estimate reads a bounded number of versions and texts of diagrams.
    """
    key = str(lcid)
    return CultureUses(*fetch(_ESTIMATE if is_estimate else _COUNT, [key, key, key, key, key, lcid])[0])
