"""Properties that the server derives, identified by their keys (D8, D14, D20, D21).

A template decides which types have them, but not how they are defined: filters and clients that rely on the
configuration would otherwise expect values that the server never sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.translation import gettext as _

from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Property

_TEXT = (DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT)


@dataclass(frozen=True, slots=True)
class DerivedAttribute:
    data_types: tuple[DataType, ...]
    is_invariant_culture: bool = True


DERIVED_ATTRIBUTES = MappingProxyType(
    {
        **dict.fromkeys(("version", "state1", "stereotype"), DerivedAttribute(_TEXT)),
        **dict.fromkeys(
            ("changedOn", "createdOn", "relOn", "validFrom", "validUntil"), DerivedAttribute((DataType.DATE_TIME,))
        ),
        **dict.fromkeys(
            ("isReleased", "isReleasedOrLastInProcess", "isLastInProcessOrReleased"),
            DerivedAttribute((DataType.BOOLEAN,)),
        ),
        **dict.fromkeys(("majorVersion", "minorVersion"), DerivedAttribute((DataType.INTEGER,))),
        "gotoUrl": DerivedAttribute((DataType.URL, *_TEXT), is_invariant_culture=False),
        "authorNote": DerivedAttribute(_TEXT, is_invariant_culture=False),
    }
)
DERIVED_CONTEXTS = frozenset({"changedBy", "createdBy", "relBy", "releaseHistory"})


def derived_problems(defined: Property) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and a message for each field of a definition that differs from what the server renders."""
    rendered, words = DERIVED_ATTRIBUTES.get(defined.key), {"key": defined.key}
    if defined.attribute and defined.key in DERIVED_CONTEXTS:
        yield ("attribute",), _("the server derives %(key)s as a related context") % words
    if defined.related and rendered:
        yield ("related",), _("the server derives %(key)s as an attribute") % words
    if defined.attribute and rendered:
        if defined.attribute.data_type not in rendered.data_types:
            text = _("the server derives %(key)s, so its data type must be %(types)s")
            types = (" " + _("or") + " ").join(rendered.data_types)
            yield ("attribute", "dataType"), text % {**words, "types": types}
        if defined.attribute.is_invariant_culture != rendered.is_invariant_culture:
            text = (
                _("the server derives %(key)s with one value for all cultures")
                if rendered.is_invariant_culture
                else _("the server derives %(key)s with one value per culture")
            )
            yield ("attribute", "isInvariantCulture"), text % words
