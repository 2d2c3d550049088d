"""Names of the parts of a blueprint, as the forms label them, for the comparison with a template."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

WORDS = {
    "display_names": _("Names"),
    "descriptions": _("Descriptions"),
    "tooltips": _("Tooltips"),
    "messages": _("Messages"),
    "views": _("Views"),
    "types": _("Types"),
    "layouts": _("Layouts"),
    "states": _("States"),
    "transitions": _("Transitions"),
    "properties": _("Properties"),
    "selectable_values": _("Selectable values"),
    "facet": _("Facet"),
    "type_name": _("Facet type name"),
    "key": _("Key"),
    "is_hierarchical": _("Tree"),
    "is_root": _("At the root"),
    "shows_all": _("Shows all properties"),
    "color": _("Colour"),
    "element_type_name": _("Element type name"),
    "entity_type_name": _("Entity type name"),
    "is_versioned": _("Versions"),
    "is_architectural": _("Architectural"),
    "has_diagram": _("Has a diagram"),
    "lives_in_diagrams": _("Exists in diagrams only"),
    "static_state": _("State without versions"),
    "release_cycle": _("Release cycle"),
    "parents": _("Allowed parents"),
    "insertables": _("Insertable types"),
    "editable_in_released": _("Editable when released"),
    "attribute": _("Attribute"),
    "data_type": _("Data type"),
    "is_invariant_culture": _("Same in all cultures"),
    "related": _("Related elements"),
    "max_occurrence": _("At most"),
    "can_add_new": _("New elements"),
    "read_only": _("Read-only"),
    "category": _("Category"),
    "source": _("From"),
    "target": _("To"),
    "task": _("Task"),
    "ends_version": _("Ends the version"),
    "assignees": _("Assigned to"),
    "approvals": _("Approvals"),
    "due_days": _("Due after days"),
    "accept": _("When accepted"),
    "reject": _("When rejected"),
    "takes_effect": _("Takes effect automatically"),
    "property": _("Property"),
    "severity": _("When not met"),
    "per_culture": _("In every mandatory culture"),
}
# Entries of these lists have names, which are not translated.
LISTS = frozenset({"views", "types", "layouts", "states", "transitions", "properties", "selectable_values"})


def place_in_words(path: Sequence[str]) -> str:
    """Describe a path below an entry such as a type, for example `Properties › name › Tooltips`."""
    found, is_name = [], False
    for part in path:
        found.append(part if is_name else str(WORDS.get(part, part)))
        # Plain names, such as the properties of a type in a view or the states of a rule, end the path.
        is_name = not is_name and part in LISTS
    return " › ".join(found)
