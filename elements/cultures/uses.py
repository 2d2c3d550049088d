"""Content that uses a data culture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

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


@dataclass(frozen=True, slots=True)
class CultureUses:
    versions: int
    diagrams: int
    appearances: int
    permalinks: int

    def __bool__(self) -> bool:
        return any(astuple(self))

    def texts(self) -> Iterator[str]:
        """Yield a phrase for each kind of use."""
        if self.versions:
            yield _("versions with values: %(count)d") % {"count": self.versions}
        if self.diagrams:
            yield _("diagrams with texts: %(count)d") % {"count": self.diagrams}
        if self.appearances:
            yield _("title or introduction of the reader pages")
        if self.permalinks:
            yield _("permalinks: %(count)d") % {"count": self.permalinks}


def find_uses(lcid: int) -> CultureUses:
    """Count the uses of a culture in the storage of the scope. Texts of the configuration do not count: a template
    may have more languages than the storage, and pages show them again if the culture returns."""
    key = str(lcid)
    return CultureUses(*fetch(_COUNT, [key, key, key, key, key, lcid])[0])
