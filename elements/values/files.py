"""Values of attributes of type Files (D451): links to other servers, and files of the storage. Pure.

A file of the storage has its id as `address` and the protocol `repository`. Type and size are those of the stored file,
whatever a client sends; the full address is derived when the value is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from repository_site.core.wording import GUID

FILE_FIELDS = ("address", "fullAddress", "mimeType", "protocol", "title")
# Short form of a file of the storage in a request.
ID = "id"
STORED_FIELDS = frozenset({*FILE_FIELDS, ID, "size"})
STORED = "repository"
# Fields that a client cannot set.
_DERIVED = frozenset({ID, "fullAddress", "mimeType", "size"})


def is_stored_file(item: Any) -> bool:
    """Return whether an item of a value is a file of the storage, and not a link."""
    return isinstance(item, dict) and (ID in item or item.get("protocol") == STORED)


def stored_file_problem(item: Mapping[str, Any]) -> str | None:
    if item.keys() - STORED_FIELDS:
        return _("must contain objects with %(names)s") % {"names": ", ".join(sorted(STORED_FIELDS))}
    address = item.get(ID, item.get("address"))
    if not isinstance(address, str) or not GUID.fullmatch(address):
        return _("a file of this storage needs its id, which the upload of the file returns")
    size = item.get("size", 0)
    if not all(isinstance(item.get(name, ""), str) for name in FILE_FIELDS) or type(size) is not int or size < 0:
        return _("must contain files with an address; all fields except size must be text")
    return None


def stored_files(value: list[Any], old: Any) -> list[Any]:
    """Return a value in its stored form. Type and size of a file that the value had already stay; those of others are
    still missing."""
    before = {each["address"]: each for each in _items(old) if is_stored_file(each)}
    return [_stored(each, before) if is_stored_file(each) else each for each in value]


def _stored(item: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]]) -> Any:
    address = item.get(ID, item.get("address"))
    if stored_file_problem(item) or not isinstance(address, str):
        return item
    address = address.lower()
    known = before.get(address, {})
    given = {name: value for name, value in item.items() if name not in _DERIVED}
    kept = {name: known[name] for name in ("mimeType", "size", "title") if name in known}
    return {**kept, **given, "address": address, "protocol": STORED}


def imported_files(value: Any) -> Any:
    """Return a value of a transfer file in its stored form; it has the type and the size of its files."""
    if not isinstance(value, list):
        return value
    known = {str(each.get(ID, each.get("address"))).lower(): each for each in value if is_stored_file(each)}
    return [_stored(each, known) if is_stored_file(each) else each for each in value]


def shown_file(item: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return a stored item as clients read it; `prefix` is the address of the files of the storage."""
    if item.get("protocol") != STORED:
        return item
    return {**item, "fullAddress": f"{prefix}{item['address']}"}


def files_in(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the files of the storage in the values of an attribute, by culture."""
    for items in values.values():
        yield from (each for each in _items(items) if is_stored_file(each))


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()
