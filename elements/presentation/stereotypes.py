"""Names of stereotypes: elements have the key of a stereotype, which an element of the type `stereotype` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from elements.naming import NAME
from elements.presentation.labels import Labels, key_words
from elements.reading.rows import VERSION_AND_ELEMENT
from repository_site.core.database.statements import Reading, read, rows_of, text_array

TYPE, KEY = "stereotype", "stereotypeKey"
# A storage has some dozens of stereotypes. Those beyond the limit are shown with the words of their key.
MOST = 500


def read_stereotypes(labels: Labels, keys: Iterable[str]) -> Mapping[str, str]:
    """Return the name of each stereotype by key, with one statement if there are any."""
    return read(reading_stereotypes(labels, keys))


def reading_stereotypes(labels: Labels, keys: Iterable[str]) -> Reading[Mapping[str, str]]:
    wanted = sorted({key for key in keys if key})
    type = labels.configuration.type_ids.get(TYPE)
    if not wanted or type is None or str(type) in labels.reader.audience.closed:
        return {key: key_words(key) for key in wanted}
    sql = f"""SELECT k.key, k.name::text FROM (
            SELECT v.attributes->'{KEY}'->>'127' AS key, v.attributes->'{NAME}' AS name
            FROM {VERSION_AND_ELEMENT} WHERE e.type_id = %s::uuid AND v.id = e.{labels.reader.audience.pointer}
            LIMIT {MOST}) AS k WHERE k.key = ANY(%s::text[])"""  # noqa: S608  constants of ours
    found = yield from rows_of(sql, [str(type), text_array(wanted)])
    known = {key: labels.name(orjson.loads(name or "{}"), "") for key, name in found}
    return {key: known.get(key) or key_words(key) for key in wanted}
