"""The tools that change drafts and apply transitions, for tokens that name these operations (D587).

They call the same functions as the API, so rules, history and events are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elements.info import read_drawn
from elements.permissions import Permission
from elements.presentation.labels import version_number
from elements.reading.rows import VersionRow, read_versions
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader
from elements.writing.updating import update_elements
from facets.blueprint.cycles import OPEN
from facets.blueprint.definitions import ElementType
from release.agents.reading_tools import NAME_SCHEMA
from release.agents.texts import keyed
from release.agents.tools import GUID, ID, Tool, ToolCall, described
from release.agents.type_texts import find_type
from release.lifecycle.transitions import TransitionRequest, apply_transition
from release.lifecycle.versions import create_version
from release.steps.log import MAX_COMMENT
from repository_site.core.problems import Conflict, PreconditionFailed, Unreadable, Warned, placed
from repository_site.core.wording import printable
from storage.localisation.cultures import INVARIANT_CULTURE

TYPE, PARENT, CONFIRM, TAG = "type", "parent", "confirm", "entityTag"
ATTRIBUTES, RELATED = "attributes", "related"
TRANSITION, COMMENT, IGNORE = "transition", "comment", "ignoreWarnings"
CONFIRM_SCHEMA = described({"type": "boolean"}, "Set true only after the user has agreed to this change.")
CONTENT = {
    ATTRIBUTES: {
        "type": "object",
        "description": 'Values by the key of the attribute, such as {"name": "Order parts"}. Texts are stored in the'
        " given culture. null removes a value.",
    },
    RELATED: {
        "type": "object",
        "description": 'Lists of element ids by the key of the related context, such as {"systems": ["<id>"]}. A list'
        " replaces all references of its context; [] removes them.",
    },
}


def create_draft(call: ToolCall) -> str:
    type = find_type(call.labels, call.text(TYPE))
    if not type.is_versioned:
        _require_confirmed(call)
    document: dict[str, Any] = {"type": type.key, **_content(call, type)}
    if call.text(PARENT):
        document["rootPath"] = [{"id": call.text(PARENT)}]
    return _save(call, type, document, Permission.NEW)


def update_draft(call: ToolCall) -> str:
    row = call.row
    type = call.reader.types[row.type]
    document = {"id": row.element, "versionId": row.version, **_content(call, type)}
    return _save(call, type, document if type.is_versioned else {**document, "versionId": None}, Permission.EDIT)


def new_version(call: ToolCall) -> str:
    writer, row = call.writer(None), call.row
    return _saved(call, create_version(writer, row, named=call.arguments[ID].lower()), "Created a draft")


def take_transition(call: ToolCall) -> str:
    if call.arguments.get(CONFIRM) is not True:
        text = "a transition changes what others see or have to do. Ask the user, then call again with true."
        raise Conflict(placed(CONFIRM, text))
    writer, row = call.writer(None), call.row
    wanted = TransitionRequest(
        transition=call.text(TRANSITION),
        ignore_warnings=call.arguments.get(IGNORE) is True,
        comment=call.text(COMMENT),
        languages=call.languages,
    )
    try:
        version = apply_transition(writer, row, wanted, named=call.arguments[ID].lower())
    except Warned as problem:
        hint = f'To apply the transition anyway, call again with "{IGNORE}": true.'
        raise Warned(f"{problem.message} {hint}", problem.details) from problem
    return _saved(call, version, "Done")


def _is_draft(call: ToolCall, row: VersionRow) -> bool:
    """Return whether readers do not see an element yet. One that lives in diagrams is a draft if all of these are."""
    if not call.reader.types[row.type].lives_in_diagrams:
        return row.category in OPEN
    return all(each.category in OPEN for each in read_drawn(call.reader.audience, row.element))


def _require_confirmed(call: ToolCall) -> None:
    if call.arguments.get(CONFIRM) is not True:
        text = "this element has no draft, so readers see the change at once. Ask the user, then call again with true."
        raise Conflict(placed(CONFIRM, text))


def _content(call: ToolCall, type: ElementType) -> dict[str, Any]:
    """Return attributes and references as the API takes them. Its own rules check them."""
    found: dict[str, Any] = {}
    attributes: Mapping[str, Any] | None = call.arguments.get(ATTRIBUTES)
    if attributes is not None:
        known = {each.key: each.attribute for each in type.properties if each.attribute}
        found[ATTRIBUTES] = {key: {str(_culture(call, known.get(key))): value} for key, value in attributes.items()}
    related: Mapping[str, Any] | None = call.arguments.get(RELATED)
    if related is not None:
        for key, ids in related.items():
            if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
                raise Unreadable(placed(f"{RELATED}: {printable(key, 60)}", "expected a list of ids."))
        found[RELATED] = {key: [{"id": each} for each in ids] for key, ids in related.items()}
    return found


def _culture(call: ToolCall, attribute: Any) -> int:
    return INVARIANT_CULTURE if attribute is not None and attribute.is_invariant_culture else call.labels.lcid


def _save(call: ToolCall, type: ElementType, document: dict[str, Any], needed: Permission) -> str:
    writer, findings = call.writer(needed), Findings()
    given = InputReader(findings).element(document, "element")
    view = call.reader.addresses.detail_view(type)

    def check_locked(rows: list[VersionRow | None]) -> None:
        # Only now is it certain that nobody releases the draft meanwhile.
        if not all(row is None or _is_draft(call, row) for row in rows):
            _require_confirmed(call)
        tag = call.text(TAG).strip('"')
        if tag and not any(row is not None and row.entity_tag.strip('"') == tag for row in rows):
            raise PreconditionFailed("The element has changed since it was read; read it again.")

    [version] = update_elements(writer, view, [given], findings, check_locked)
    return _saved(call, version, "Saved")


def _saved(call: ToolCall, version: str, done: str) -> str:
    """Return the identity of a changed version, for the next step."""
    row = read_versions([version], with_attributes=False)[version]
    type = call.reader.types[row.type]
    lines = [f"{done}: {call.labels.typed(type)} id={row.element}"]
    if type.is_versioned:
        state = keyed(call.labels.state(type, row.state), row.state)
        lines.append(f"Version {version_number(row.major, row.minor)}, state {state}, versionId={row.version}")
    tag = row.entity_tag.strip('"')
    return "\n".join([*lines, f"{TAG}={tag}", f"Page: {call.labels.address(row)}"])


WRITING_TOOLS = (
    Tool(
        "create_draft",
        "Create a draft",
        "Create an element. list_types with its type shows the attributes and related contexts that it can have. The"
        " element is a draft: readers do not see it before its release. An element of a type without versions is"
        " visible at once and needs confirm.",
        "updateElements",
        create_draft,
        {
            TYPE: described(NAME_SCHEMA, "Key of the type, from list_types."),
            **CONTENT,
            PARENT: described(GUID, "Id of the element above the new one in the tree."),
            CONFIRM: CONFIRM_SCHEMA,
        },
        (TYPE, ATTRIBUTES),
        writes=True,
    ),
    Tool(
        "update_draft",
        "Change a draft",
        "Change attributes and references of a draft; values that you do not name stay the same. A released version"
        " cannot be changed: call create_version first, which makes a draft of it. A change that readers see at once"
        " needs confirm: it changes an element of a type without versions, or a step of a released process.",
        "updateElements",
        update_draft,
        {
            ID: GUID,
            **CONTENT,
            TAG: {
                **NAME_SCHEMA,
                "description": "entityTag from read_element. The change is refused if somebody has changed the version"
                " since.",
            },
            CONFIRM: CONFIRM_SCHEMA,
        },
        (ID,),
        writes=True,
    ),
    Tool(
        "create_version",
        "Create a version",
        "Create a draft as a copy of the released version of an element. update_draft can then change it.",
        "createVersion",
        new_version,
        {ID: GUID},
        (ID,),
        in_culture=False,
        writes=True,
    ),
    Tool(
        "apply_transition",
        "Apply a transition",
        "Apply a lifecycle transition that list_transitions shows, such as a release or a request for approval. It"
        " changes what others see or have to do: ask the user first, then set confirm.",
        "applyTransition",
        take_transition,
        {
            ID: GUID,
            TRANSITION: described(NAME_SCHEMA, "Key of the transition, from list_transitions."),
            CONFIRM: CONFIRM_SCHEMA,
            COMMENT: {"type": "string", "maxLength": MAX_COMMENT, "description": "Comment for the lifecycle log."},
            IGNORE: {
                "type": "boolean",
                "description": "Set true to apply it despite warnings, after the user has read them.",
            },
        },
        (ID, TRANSITION),
        in_culture=False,
        writes=True,
        is_lasting=True,
        needs_drafts=True,
    ),
)
