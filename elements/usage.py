"""Content that a configuration change would orphan; `facets.changing` asks before it writes."""

from __future__ import annotations

from django.utils.translation import ngettext

from elements.models import Element, ElementVersion, Reference
from facets.blueprint.differences import Hazard
from repository_site.core.database.statements import fetch

ATTRIBUTE_SQL = """
    SELECT count(*) FROM elements_elementversion v
      JOIN elements_element e ON e.id = v.element_id JOIN facets_elementtype t ON t.id = e.type_id
     WHERE t.key = %s AND jsonb_exists(v.attributes, %s)
"""
VALUE_SQL = """
    SELECT count(*) FROM elements_elementversion v
      JOIN elements_element e ON e.id = v.element_id JOIN facets_elementtype t ON t.id = e.type_id
     WHERE t.key = %s AND EXISTS (
           SELECT FROM jsonb_each(v.attributes -> %s) AS held
            WHERE held.value @> to_jsonb(%s::text))
"""


def describe_use(hazard: Hazard) -> str | None:
    """Return a sentence if there is content, else None. Runs inside the scope of the storage."""
    if hazard.state is not None:
        held = ElementVersion.objects.filter(element__type__key=hazard.type, state=hazard.state).count()
        text = ngettext("%(count)d version is in this state", "%(count)d versions are in this state", held)
        return text % {"count": held} if held else None
    if hazard.property is None:
        count = Element.objects.filter(type__key=hazard.type).count()
        text = ngettext("%(count)d element has this type", "%(count)d elements have this type", count)
        return text % {"count": count} if count else None
    if hazard.value is not None:
        count = fetch(VALUE_SQL, [hazard.type, hazard.property, hazard.value])[0][0]
        text = ngettext("%(count)d version has this value", "%(count)d versions have this value", count)
        return text % {"count": count} if count else None
    values = fetch(ATTRIBUTE_SQL, [hazard.type, hazard.property])[0][0]
    if values:
        text = ngettext("%(count)d version has a value for it", "%(count)d versions have a value for it", values)
        return text % {"count": values}
    held = Reference.objects.filter(version__element__type__key=hazard.type, context=hazard.property).count()
    text = ngettext("%(count)d reference uses this context", "%(count)d references use this context", held)
    return text % {"count": held} if held else None
