"""Decisions about new elements: permission, type, ids, first state and author.

Every new element passes `new_change`, and `Rights.refusals` once its values are known, whether a request names it
directly, describes it in a reference, or draws it (D203).
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from django.utils.translation import gettext as _

from elements.permission_sets.callers import denied_in_facet
from elements.permissions import Permission, role_permissions
from elements.writing.deciding.attributes import AttributeRules
from elements.writing.deciding.lookups import is_named
from elements.writing.deciding.references import ReferenceRules
from elements.writing.deciding.rights import Rights
from elements.writing.findings import Findings, forbidden, invalid
from elements.writing.inputs import ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.writers import Writer
from facets.blueprint.definitions import ElementType
from facets.blueprint.private_content import TOKEN_TYPE
from facets.configuration import Configuration

AUTHOR = "author"


def new_change(writer: Writer, type: ElementType, place: str) -> PlannedChange:
    """Plan an empty new element; the caller needs the permission to create it."""
    if type.key == TOKEN_TYPE:
        raise invalid(place, _("elements of type %(type)s are created by issuing a token") % {"type": TOKEN_TYPE})
    if Permission.NEW not in role_permissions(writer.caller, type) - denied_in_facet(writer.configuration.sets, type):
        text = _("creating an element of type %(type)s requires the permission %(permission)s")
        raise forbidden(place, text % {"type": type.key, "permission": Permission.NEW})
    element = str(uuid4())
    version = str(uuid4()) if type.is_versioned else element
    return PlannedChange(
        place, type, element, version, None, {}, valid_until=writer.no_end if type.is_versioned else None
    )


@dataclass(frozen=True, slots=True)
class Making:
    """Makes the elements that references describe instead of naming existing ones, and collects their plans."""

    writer: Writer
    attributes: AttributeRules
    rights: Rights
    findings: Findings
    changes: list[PlannedChange]

    def target(self, reference: ReferenceInput, type: ElementType) -> str:
        """Plan the new target of a related context and return its id."""
        if type.lives_in_diagrams:
            text = _("elements of type %(type)s are created by drawing them: post them to the content of a diagram")
            raise invalid(reference.place, text % {"type": type.key})
        change = self.element(reference, type)
        self.changes.append(change)
        return change.element

    def element(
        self, reference: ReferenceInput, type: ElementType, references: ReferenceRules | None = None
    ) -> PlannedChange:
        """Plan a new element. With `references`, it has those that are described with it."""
        change = new_change(self.writer, type, reference.place)
        check_facet(type, reference.facet, reference.place, self.findings)
        self.attributes.apply(change, reference.stereotype, reference.attributes or {})
        if references is not None:
            references.apply(change, reference.related, {})
        for refusal in self.rights.refusals(change):
            self.findings.note(refusal)
        if AUTHOR not in reference.related:
            set_author(self.writer, change)
        return change


def check_facet(type: ElementType, given: str | None, place: str, findings: Findings) -> None:
    if not is_named(type.facet, given):
        text = _("elements of type %(type)s are in the facet %(facet)s") % {"type": type.key, "facet": type.facet}
        findings.note(invalid(place, text))


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
