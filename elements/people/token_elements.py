"""Elements that represent API tokens (D4), so that `changedBy` can name a program as it names a person."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from elements.naming import NAME, sort_name
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow
from elements.writing import statements
from elements.writing.authors import Author
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.stored import lock_elements
from facets.blueprint.cycles import Category
from facets.blueprint.definitions import ElementType
from facets.blueprint.private_content import INACTIVE, ROLE_ATTRIBUTES, TOKEN_TYPE
from facets.configuration import Configuration, configuration_of
from repository_site.core.rest.rendering import to_json
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import ApiToken, Storage
from storage.tenancy.scope import tenant_scope


def mirror_token(storage: Storage, token: ApiToken) -> None:
    """Create or update the element of a token, which has the token's id. Does nothing in a storage without that
    type."""
    # The configuration may have changed since the storage was read. The scope reads the revision into a new object.
    current = Storage(id=storage.id)
    with tenant_scope(current):
        configuration = configuration_of(current)
        type = configuration.types.get(TOKEN_TYPE)
        if type is not None and not type.is_versioned:
            _write(token, type, configuration)


def _write(token: ApiToken, type: ElementType, configuration: Configuration) -> None:
    element, now = str(token.id), timezone.now()
    attributes = _attributes(token, type, [str(lcid) for lcid in configuration.cultures.data])
    until = token.revoked_on or token.valid_until
    content = ("", to_json(attributes).decode(), sort_name(attributes, str(configuration.cultures.default)))
    row = lock_elements({element}, ()).versions.get(element)
    if row is not None:
        _renew(row, attributes, token, until, str(configuration.cultures.default))
    else:
        type_id = str(configuration.type_ids[TOKEN_TYPE])
        # No published version: only callers who see drafts see which programs have access (D206).
        new_element = (element, element, type_id, None, 0, "", element, None)
        statements.insert_elements(configuration.sets, [new_element])
        state = ("", Category.STATIC.value, None, None)
        new = (element, element, *state, *content, token.valid_from, until, now, None)
        statements.insert_versions([new])


def _renew(
    row: VersionRow, mirrored: dict[str, dict[str, Any]], token: ApiToken, until: datetime | None, culture: str
) -> None:
    """Update the mirrored attributes, keep all others, and record the change."""
    before = read_exactly(row.attributes)
    after = before | mirrored
    author = Author(None, f"token:{token.id}", "")
    content = (row.stereotype, to_json(after).decode(), sort_name(after, culture))
    update = statements.update_of_versions([(row.version, *content, token.valid_from, until, author.now, None)])
    changed = {name for name in mirrored if before.get(name) != mirrored[name]}
    old, new = ({"attributes": {name: held.get(name) for name in sorted(changed)}} for held in (before, after))
    record(author, [HistoryEntry(row.element, row.version, Action.UPDATED, old, new)], update)


def _attributes(token: ApiToken, type: ElementType, cultures: list[str]) -> dict[str, dict[str, Any]]:
    """Return the attributes that the type has: the name in every culture, and the roles."""
    known = {each.key: each.attribute for each in type.properties if each.attribute}
    invariant = str(INVARIANT_CULTURE)
    values: dict[str, Any] = {name: role in token.roles for name, role in ROLE_ATTRIBUTES.items()}
    values[INACTIVE] = token.revoked_on is not None
    found = {name: {invariant: value} for name, value in values.items() if name in known}
    name = known.get(NAME)
    if name is not None:
        found[NAME] = dict.fromkeys([invariant] if name.is_invariant_culture else cultures, token.name)
    return found
