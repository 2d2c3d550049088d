"""The tools that read: search, elements, types, references, transitions and tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from elements import derived
from elements.naming import NAME
from elements.permissions import require_lifecycle
from elements.reading.assembly.assembler import Assembler
from elements.reading.assembly.projection import RELATED, Wanted
from elements.reading.lists import selection as selecting
from elements.reading.names import read_version_names
from elements.reading.referrers import context_names, reading_referrers, referring_contexts
from elements.reading.rows import Identity, VersionRow, read_versions
from elements.search.narrowing import hit_filter
from elements.search.searching import Search, SearchHit, SearchRequest
from facets.event_filters import names_in
from facets.rendering import list_transitions
from release.agents.comparison_texts import read_differences
from release.agents.element_texts import element_text
from release.agents.texts import PAGE, fitting, keyed, page_note, piece
from release.agents.tools import (
    AS_OF,
    AS_OF_SCHEMA,
    GUID,
    ID,
    OFFSET,
    OFFSET_SCHEMA,
    PAGE_NUMBER,
    PAGE_SCHEMA,
    Tool,
    ToolCall,
    ToolText,
    described,
)
from release.agents.type_texts import facets_text, find_type, type_text
from release.lifecycle.transitions import offered_transitions
from release.models import Task
from release.steps.locking import read_unlocked
from release.tasks.choosing import waiting_for
from repository_site.core.database.statements import read
from repository_site.core.problems import Conflict, NotFound, Unreadable, placed
from repository_site.core.wording import printable, similar_hint

TEXT, FACET, TYPE, STATE, CONTEXT, DIRECTION = "text", "facet", "type", "state", "context", "direction"
FROM, TO = "from", "to"
OUTGOING, INCOMING, CHILDREN = "outgoing", "incoming", "children"
# Words of a search, keys and names.
LONGEST_TEXT, LONGEST_NAME = 1_000, 200
NAME_SCHEMA = {"type": "string", "maxLength": LONGEST_NAME}
MARK = re.compile(r"</?mark>")


def search(call: ToolCall) -> ToolText:
    finder = Search(call.configuration, call.reader.audience)
    types, facet, type, state = finder.searchable.types, call.text(FACET), call.text(TYPE), call.text(STATE)
    facets = [call.configuration.facet(facet).facet.name] if facet else []
    keys = [find_type(call.labels, type).key] if type else []
    states = names_in(call.configuration)[STATE]
    if state and state not in states:
        raise Unreadable(placed(STATE, f"{printable(state, 40)!r} is unknown{similar_hint(state, states)}."))
    only = hit_filter(types, facets, keys, [state] if state else [])
    offset = (call.page - 1) * PAGE
    found = finder.run(SearchRequest(call.text(TEXT), None, only, PAGE, offset, reading=call.labels.lcid))

    def write() -> str:
        # Excerpts take time and need no database connection.
        lines = [page_note(offset, len(found.hits), found.found.total, call.page)]
        if found.suggestion:
            lines.append(f"Did you mean: {found.suggestion}")
        return fitting([*lines, *(line for hit in found.hits for line in _hit(call, hit))])

    return write


def _hit(call: ToolCall, hit: SearchHit) -> Iterator[str]:
    yield f"- {call.labels.line(call.labels.link(hit.row, hit.names))}"
    if hit.excerpt is not None and hit.excerpt.attribute != NAME:
        file = f" in the file {hit.excerpt.file_name}" if hit.excerpt.file else ""
        # An excerpt is escaped, and marks the words that were found.
        yield f"  {hit.excerpt.attribute}{file}: {unescape(MARK.sub('', hit.excerpt.text))}"


def list_types(call: ToolCall) -> str:
    key = call.text(TYPE)
    text = type_text(call.labels, key) if key else facets_text(call.labels)
    return piece(text, call.arguments.get(OFFSET) or 0)


def read_element(call: ToolCall) -> str:
    return piece(element_text(call.labels, call.row), call.arguments.get(OFFSET) or 0)


def compare_versions(call: ToolCall) -> ToolText:
    old, new = (call.find(call.arguments[name]) for name in (FROM, TO))
    if old.element != new.element:
        raise Conflict(f"{FROM} and {TO} belong to different elements; read_element lists the versions of one.")
    compare, offset = read_differences(call.labels, old, new), call.arguments.get(OFFSET) or 0
    return lambda: piece(compare(), offset)


def follow_references(call: ToolCall) -> str:
    read = {OUTGOING: _outgoing, INCOMING: _incoming, CHILDREN: _children}[call.text(DIRECTION) or OUTGOING]
    return fitting(read(call, call.row))


def _outgoing(call: ToolCall, row: VersionRow) -> Iterator[str]:
    reader, type = call.reader, call.reader.types[row.type]
    labels = {each.key: call.labels.property(each) for each in type.properties if each.related}
    only = call.text(CONTEXT)
    if only and only not in labels:
        raise NotFound(f"The type {type.key} has no related context {printable(only, 60)}{similar_hint(only, labels)}.")
    contexts = [only] if only else [each for each in labels if each != derived.RELEASE_HISTORY]
    wanted = Wanted(frozenset({RELATED}), frozenset(contexts))
    gathered = Assembler(reader, reader.addresses.detail_view(type), wanted).gather([row])
    related = gathered.links.related(row, contexts)
    found = [(context, target) for context, targets in related.items() for target in targets]
    first = (call.page - 1) * PAGE
    shown = found[first : first + PAGE]
    yield page_note(first, len(shown), len(found), call.page)
    names = read_version_names({target.version for _, target in shown})
    for context, target in shown:
        line = call.labels.line(call.labels.link(target, names.get(target.version, {})))
        yield f"- {keyed(labels[context], context)}: {line}"


def _incoming(call: ToolCall, row: VersionRow) -> Iterator[str]:
    known = context_names(call.reader.nested)
    only = call.text(CONTEXT)
    if only and only not in known:
        raise NotFound(f"There is no related context {printable(only, 60)}{similar_hint(only, known)}.")
    contexts, first = [only] if only else [], (call.page - 1) * PAGE
    found = read(reading_referrers(call.reader, row, contexts, limit=PAGE, offset=first))
    labels = {each.context: call.labels.property(each.definition) for each in referring_contexts(call.reader.nested)}
    yield page_note(first, len(found.page), found.total(contexts), call.page)
    for each in found.page:
        line = call.labels.line(call.labels.link(each.identity, each.names))
        diagrams = [call.labels.line(call.labels.link(one.owner, one.names)) for one in each.diagrams]
        shown = f"; in the process {', '.join(diagrams)}" if diagrams else ""
        yield f"- {keyed(labels.get(each.context, each.context), each.context)} of {line}{shown}"


def _children(call: ToolCall, row: VersionRow) -> Iterator[str]:
    if call.text(CONTEXT):
        advice = f"omit it, or set {DIRECTION} to {OUTGOING}"
        raise Unreadable(placed(CONTEXT, f"children have no related context; {advice}."))
    reader = call.reader
    view = reader.addresses.detail_view(reader.types[row.type])
    below = selecting.children_of(reader.audience, row.element, Assembler(reader, view, Wanted()).child_types)
    first, total = (call.page - 1) * PAGE, selecting.count(below)
    page: list[Identity] = [each.identity for each in selecting.read_page(below, PAGE, first)]
    yield page_note(first, len(page), total, call.page)
    for link in call.labels.links(page, read_version_names({each.version for each in page})):
        yield f"- {call.labels.line(link)}"


def show_transitions(call: ToolCall) -> str:
    """Return the transitions that the caller can apply now."""
    offered = offered_transitions(read_unlocked(call.configuration, call.caller, call.row))
    lines = [
        f"- {each['transitionId']}: {each['sourceState']} to {each['targetState']}"
        for each in list_transitions(offered)
    ]
    return "\n".join(lines) or "No transition can be applied now."


def list_my_tasks(call: ToolCall) -> str:
    require_lifecycle(call.caller)
    tasks = Task.objects.filter(state=Task.State.OPEN) & waiting_for(call.caller)
    first = (call.page - 1) * PAGE
    page = [*tasks[first : first + PAGE]]
    versions = {str(each.version_id) for each in page}
    rows, names = read_versions(versions, with_attributes=False), read_version_names(versions)
    lines = [page_note(first, len(page), tasks.count(), call.page)]
    for task in page:
        version = str(task.version_id)
        about = call.labels.line(call.labels.link(rows[version], names.get(version, {})))
        parts = [
            f"- {task.type}: {about}, versionId={version}",
            f"{task.transition}: {task.source_state} to {task.target_state}",
            f"requested by {task.requester_label} on {task.requested_on.astimezone(call.reader.zone):%Y-%m-%d %H:%M}",
            *([f"due on {task.due_on.astimezone(call.reader.zone):%Y-%m-%d}"] if task.due_on else []),
            *([f"comment: {' '.join(task.comment.split())}"] if task.comment else []),
            f"taskId={task.id}",
        ]
        lines.append("; ".join(parts))
    return fitting(lines)


READING_TOOLS = (
    Tool(
        "search",
        "Search",
        "Find elements by words in their names, texts, diagrams and files. The best matches come first. Accents, letter"
        " case and inflection do not matter. Start here if you have no id.",
        "searchElements",
        search,
        {
            TEXT: {
                "type": "string",
                "maxLength": LONGEST_TEXT,
                "description": "Words to search for. An element must contain all of them, so use few.",
            },
            FACET: {
                **NAME_SCHEMA,
                "description": "Key of a facet, to find only its elements; list_types lists the facets.",
            },
            TYPE: {
                **NAME_SCHEMA,
                "description": "Key of a type, to find only its elements; list_types lists the types.",
            },
            STATE: {
                **NAME_SCHEMA,
                "description": "Key of a state, such as released, to find only elements in it.",
            },
            PAGE_NUMBER: PAGE_SCHEMA,
        },
        (TEXT,),
    ),
    Tool(
        "read_element",
        "Read an element",
        "Read one element, or one of its versions: attributes, references with ids, process steps in order, children"
        " and versions. The id of an element returns its current version; a versionId returns exactly that version.",
        "getElement",
        read_element,
        {ID: GUID, AS_OF: AS_OF_SCHEMA, OFFSET: OFFSET_SCHEMA},
        (ID,),
    ),
    Tool(
        "compare_versions",
        "Compare two versions",
        "Show what differs between two versions of one element: attributes, references, process steps and flows. Lines"
        " that begin with - are only in the first version, lines with + only in the second, and ~ marks what has"
        " changed or moved.",
        "compareElement",
        compare_versions,
        {
            FROM: {
                **GUID,
                "description": "versionId of the first version, usually the older one, from read_element.",
            },
            TO: {
                **GUID,
                "description": "versionId of the second version, or the id of the element for the current one.",
            },
            OFFSET: OFFSET_SCHEMA,
        },
        (FROM, TO),
    ),
    Tool(
        "follow_references",
        "Follow references",
        "List the elements that an element refers to (outgoing), the elements that refer to it (incoming, with the"
        " processes whose diagrams show them), or its children in the tree.",
        "listReferrers",
        follow_references,
        {
            ID: GUID,
            DIRECTION: {
                "type": "string",
                "enum": [OUTGOING, INCOMING, CHILDREN],
                "description": f"The default is {OUTGOING}.",
            },
            CONTEXT: {
                **NAME_SCHEMA,
                "description": "Key of a related context, such as owner, to list only its references.",
            },
            AS_OF: AS_OF_SCHEMA,
            PAGE_NUMBER: PAGE_SCHEMA,
        },
        (ID,),
        also=("getElement",),
    ),
    Tool(
        "list_types",
        "List facets and types",
        "List the facets (areas) of the storage with their types. With a type, describe it: attributes, related"
        " contexts (kinds of references), states and transitions.",
        "listTypeSchemas",
        list_types,
        {
            TYPE: described(NAME_SCHEMA, "Key of the type to describe. Without it, all types are listed."),
            OFFSET: OFFSET_SCHEMA,
        },
    ),
    Tool(
        "list_transitions",
        "List transitions",
        "List the lifecycle transitions that the token can apply to an element now, such as a release.",
        "listTransitions",
        show_transitions,
        {ID: GUID},
        (ID,),
        in_culture=False,
    ),
    Tool(
        "list_my_tasks",
        "List my tasks",
        "List the open tasks, such as approvals, that wait for the user of the token, oldest first.",
        "listTasks",
        list_my_tasks,
        {PAGE_NUMBER: PAGE_SCHEMA},
        by_facet=False,
        needs_drafts=True,
    ),
)
