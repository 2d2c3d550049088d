"""Elements in messages about their changes, as an administrator reads them in the API (D366)."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from django.conf import settings

from elements.reading.assembly.assembler import Assembler, Reader
from elements.reading.assembly.projection import Wanted
from elements.reading.bounds import TooHeavy
from elements.reading.rows import Audience, VersionRow, find_version
from facets.configuration import configuration_of
from repository_site.core.rest.rendering import to_json
from storage.models import Storage

# Bytes of an element. Larger ones are left out: receivers read them in the API.
LONGEST = 262_144


def show_versions(storage: Storage, versions: Sequence[str]) -> dict[str, bytes]:
    """Return versions as JSON, as the address in `expandUri` returns them; without deleted and very large ones."""
    address = f"{settings.PUBLIC_URL}/{storage.collection.key}/{storage.key}"
    reader = Reader(configuration_of(storage), Audience(sees_drafts=True), ZoneInfo(storage.time_zone), address)
    shown = {}
    for version in versions:
        try:
            row = find_version(reader.audience, version)
            element = _shown(reader, row) if row is not None else None
        except TooHeavy:
            continue
        if element is not None and len(element) <= LONGEST:
            shown[version] = element
    return shown


def _shown(reader: Reader, row: VersionRow) -> bytes | None:
    type = reader.types[row.type]
    view = reader.addresses.detail_view(type)
    if type.key not in view.types:
        return None
    (element,) = Assembler(reader, view, Wanted()).elements([row])
    return to_json(element)
