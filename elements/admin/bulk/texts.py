"""Operations, states and reasons of bulk changes in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.labels import OfficeLabels
from elements.admin.linking import linked_reasons
from elements.models import BulkRefusal, BulkRun
from elements.presentation.labels import Named
from repository_site.core.rest.rendering import to_json

# Characters of a value, and references of a context, that a text shows.
LONGEST_VALUE, MOST_REFERENCES = 80, 10
STATES = {
    BulkRun.State.WAITING: gettext_lazy("waiting"),
    BulkRun.State.RUNNING: gettext_lazy("running"),
    BulkRun.State.DONE: gettext_lazy("done"),
    BulkRun.State.STOPPED: gettext_lazy("stopped"),
}
KINDS: dict[str, Any] = {
    "set": gettext_lazy("Set"),
    "clear": gettext_lazy("Clear"),
    "add": gettext_lazy("Add references"),
    "remove": gettext_lazy("Remove references"),
    "transition": gettext_lazy("Transition"),
    "createVersion": gettext_lazy("New version"),
    "move": gettext_lazy("Move"),
    "delete": gettext_lazy("Delete"),
    "handOver": gettext_lazy("Hand over"),
}


def operation_texts(labels: OfficeLabels, runs: Sequence[BulkRun]) -> list[list[str]]:
    """Return the operations of each run, such as `Set: Owner = Anna`. One statement reads the names of all elements."""
    every = [operation for run in runs for operation in run.operations]
    named = labels.elements(id for operation in every for id in _named_in(operation))
    return [[_text(labels, named, operation) for operation in run.operations] for run in runs]


def reason_texts(labels: OfficeLabels, refusals: Sequence[BulkRefusal]) -> list[list[SafeString]]:
    """Return the reasons of each refusal with links and titles. The number of statements does not depend on the number
    of refusals."""
    linked = iter(linked_reasons(labels, (text for each in refusals for text in each.reasons)))
    return [list(islice(linked, len(each.reasons))) for each in refusals]


def _kind(operation: Mapping[str, Any]) -> str:
    # The database does not keep the order of fields.
    return next(each for each in operation if each in KINDS)


def _named_in(operation: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the elements that the text of an operation names."""
    match kind := _kind(operation):
        case "set" | "add" | "remove":
            for references in (operation[kind].get("related") or {}).values():
                yield from (each["id"].lower() for each in references[:MOST_REFERENCES])
        case "move":
            yield from [operation[kind]["parent"].lower()] if operation[kind]["parent"] else []
        case "handOver":
            yield from (each.lower() for each in operation[kind].values())


def _text(labels: OfficeLabels, named: Mapping[str, Named], operation: Mapping[str, Any]) -> str:
    kind, titles = _kind(operation), labels.titles
    value, title = operation[kind], str(KINDS[kind])
    match kind:
        case "set" | "add" | "remove":
            return f"{title}: {', '.join(_values(labels, named, value))}"
        case "clear":
            return f"{title}: {', '.join(titles.get(each, each) for each in value)}"
        case "transition":
            return f"{title}: {titles.get(value, value)}"
        case "move":
            return f"{title}: {_name(named, value['parent']) if value['parent'] else _('top of the tree')}"
        case "handOver":
            return f"{title}: {_name(named, value['from'])} → {_name(named, value['to'])}"
    return title


def _name(named: Mapping[str, Named], id: str) -> str:
    return named[id.lower()].name if id.lower() in named else id


def _values(labels: OfficeLabels, named: Mapping[str, Named], value: Mapping[str, Any]) -> Iterator[str]:
    for name, values in (value.get("attributes") or {}).items():
        for each in values.values():
            text = "–" if each is None else each if isinstance(each, str) else to_json(each).decode()
            yield f"{labels.titles.get(name, name)} = {Truncator(text).chars(LONGEST_VALUE)}"
    for name, references in (value.get("related") or {}).items():
        names = [_name(named, each["id"]) for each in references[:MOST_REFERENCES]]
        names += ["…"] if len(references) > MOST_REFERENCES else []
        yield f"{labels.titles.get(name, name)} = {', '.join(names) or '–'}"
