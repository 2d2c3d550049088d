"""Decisions about new elements: permission, ids, first state and author."""

from __future__ import annotations

from uuid import uuid4

from django.utils.translation import gettext as _

from elements.permissions import Permission, role_permissions
from elements.writing.deciding.attributes import AttributeRules
from elements.writing.findings import forbidden
from elements.writing.inputs import ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration

AUTHOR = "author"


def new_change(writer: Writer, type: ElementType, place: str) -> PlannedChange:
    """Plan an empty new element; the caller needs the permission to create it."""
    if Permission.NEW not in role_permissions(writer.caller, type):
        text = _("creating an element of type %(type)s requires the permission %(permission)s")
        raise forbidden(place, text % {"type": type.key, "permission": Permission.NEW})
    element = str(uuid4())
    version = str(uuid4()) if type.is_versioned else element
    return PlannedChange(
        place, type, element, version, None, {}, valid_until=writer.no_end if type.is_versioned else None
    )


def described_change(
    writer: Writer, attributes: AttributeRules, reference: ReferenceInput, type: ElementType
) -> PlannedChange:
    """Plan the new element that a reference describes instead of naming an existing one."""
    change = new_change(writer, type, reference.place)
    attributes.apply(change, reference.stereotype, reference.attributes or {})
    set_author(writer, change)
    return change


def set_author(writer: Writer, change: PlannedChange) -> None:
    """Make the caller the author of a new element, if its type has authors."""
    caller = writer.author.element
    if caller is not None and has_author(change.type):
        change.related[AUTHOR] = [str(caller)]
        change.note("related", AUTHOR, [], [str(caller)])


def has_author(type: ElementType) -> bool:
    return any(each.key == AUTHOR and each.related for each in type.properties)


def first_state(configuration: Configuration, type: ElementType) -> str:
    """Return the state of new versions; empty for types without states."""
    return configuration.cycles[type.key].first_state if type.is_versioned else ""
