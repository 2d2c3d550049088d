"""Types and elements that a request names."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from elements.writing.findings import invalid
from elements.writing.inputs import ReferenceInput
from elements.writing.stored import ReferenceTarget
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration
from repository_site.core.wording import printable


def type_called(configuration: Configuration, name: str | None) -> ElementType | None:
    """Return the type of this name, ignoring letter case (D1)."""
    types = configuration.types
    folded = configuration.keep("folded types", lambda: {key.casefold(): type for key, type in types.items()})
    return folded.get(name.casefold()) if name is not None else None


def is_named(name: str, given: str | None) -> bool:
    """Whether an optional name, if given, is this one, ignoring letter case (D1)."""
    return given is None or given.casefold() == name.casefold()


def named_target(
    configuration: Configuration, reference: ReferenceInput, targets: Mapping[str, ReferenceTarget]
) -> ReferenceTarget:
    """Return the element that a reference names. Raise a refusal if there is none, or not of the type or facet that
    the reference says. References lead to elements; the version that they were read with does not matter."""
    named = reference.id or reference.version or ""
    target = targets.get(named)
    if target is None:
        text = _("there is no element %(id)s") % {"id": named} if named else _("expected the id of an element")
        raise invalid(reference.place, text)
    type = configuration.types_by_id[target.type]
    if not is_named(type.key, reference.type):
        words = {"id": named, "type": type.key, "wrong": printable(reference.type or "", 100)}
        raise invalid(reference.place, _("%(id)s has the type %(type)s, not %(wrong)s") % words)
    if not is_named(type.facet, reference.facet):
        words = {"id": named, "facet": type.facet, "wrong": printable(reference.facet or "", 100)}
        raise invalid(reference.place, _("%(id)s is in the facet %(facet)s, not %(wrong)s") % words)
    return target
