"""Events that a caller sees, in the change feed and among the changes that people follow (D328, D400)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from elements.filters.conditions import ALWAYS, Condition, all_of, negation
from facets.blueprint.private_content import TOKEN_TYPE, USER_TYPE
from facets.clearance import HIDDEN, Clearance, clearance_of, scope_limits, visible_to, visible_to_caller
from facets.configuration import Configuration
from repository_site.core.database.statements import text_array
from repository_site.core.rest.rendering import to_json
from storage.access.callers import Caller
from storage.models import EventType

# Its version was published at that time, and is published now (D328).
PUBLISHED = "SELECT FROM elements_element x WHERE x.id = e.subject_id AND x.published_id = e.version_id"
PUBLIC = Condition(f"e.is_public AND EXISTS ({PUBLISHED})", ())
# Nothing but these attributes has changed.
ONLY_THESE = "e.data->'attributes' <@ %s::jsonb AND e.data->'attributes' <> '[]' AND e.data->'contexts' = '[]'"
TOKEN_EVENTS = [each.value for each in EventType if each.value.startswith("token.")]


def visible_events(caller: Caller, whole: Configuration) -> Condition:
    """Return the condition on the events `e` that a caller sees. Events of removed types stay visible, but not to a
    token that is limited to facets (D489)."""
    clearance = clearance_of(caller.roles)
    if caller.scope.facets is None:
        return _cleared(clearance, whole)
    types = sorted(visible_to_caller(caller, whole).types)
    return all_of([_cleared(clearance, whole), Condition("e.element_type = ANY(%s::text[])", (text_array(types),))])


def _cleared(clearance: Clearance, whole: Configuration) -> Condition:
    if clearance is Clearance.ADMINISTRATOR:
        return ALWAYS
    part = visible_to(clearance, whole)
    closed = sorted({*(key for key in whole.types if key not in part.types), TOKEN_TYPE})
    opened = Condition("e.element_type <> ALL(%s::text[])", (text_array(closed),))
    of_user = Condition("e.element_type = %s::text AND e.type = %s::text", (USER_TYPE, EventType.ELEMENT_CHANGED.value))
    if clearance is Clearance.READER:
        # If a program records sign-ins, most changes of a user are sign-ins.
        return all_of([PUBLIC, opened, negation(of_user)])
    limits = scope_limits()
    # They name places of the configuration, such as hidden facets.
    unseen = [EventType.CONFIGURATION_CHANGED.value] if limits and limits.facets else []
    others = Condition("e.type <> ALL(%s::text[])", (text_array([*TOKEN_EVENTS, *unseen]),))
    hidden = Condition(ONLY_THESE, (to_json(sorted(HIDDEN[clearance])).decode(),))
    return all_of([opened, others, negation(all_of([of_user, hidden]))])


def hidden_names(clearance: Clearance) -> Mapping[str, Collection[str]]:
    """Return the names of attributes that events of a type must not contain."""
    return {USER_TYPE: HIDDEN[clearance]}
