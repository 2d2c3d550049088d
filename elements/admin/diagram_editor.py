"""The editor of a diagram: a list of steps beside the picture of them. It saves with one request to the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

import orjson
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from elements.admin.detail import office_context
from elements.admin.labels import OfficeLabels
from elements.admin.panels import ElementPage, find_page
from elements.diagrams.drawables import DrawableFlow, DrawableShape, Drawing, LayoutKey, MapGroup
from elements.diagrams.fixed_texts import words_in
from elements.diagrams.flow.flow_checks import FlowFault, find_faults
from elements.diagrams.svg import DiagramTexts, draw
from elements.locks import Lock
from elements.naming import NAME
from elements.permissions import Permission, needs_permission
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import most_text
from elements.reading.diagrams.drawings import StoredDiagram, read_diagram
from elements.reading.diagrams.picture_notes import NO_TARGETS, NoteTargets, read_note_targets, shape_notes
from elements.reading.diagrams.pictures import GROUP_ATTRIBUTES, MAX_ARROWS, MAX_SHAPES, is_map, kind_of, map_group
from elements.reading.names import chosen_name
from elements.reading.rows import VersionRow, read_identities, read_references, read_versions
from elements.sizes.limits import SHAPES
from elements.writing.inputs import SERVER_CONTEXTS
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import Conflict, Forbidden, NotFound, Unreadable
from repository_site.core.rest.strict_json import has_more_values
from storage.back_office import storage_office
from storage.localisation.cultures import language_of, locale_name
from storage.pages import ReadPage

DIAGRAM = "diagram"
ROLES, PEOPLE = "roles", "users"
"""Facets whose elements carry out a step."""


def steps_view(request: HttpRequest, element: str) -> HttpResponseBase:
    page = _drawable_page(request, element)
    context = {
        **office_context(request, _("Draw %(name)s") % {"name": page.name}),
        "page": page,
        "state": _state(page),
        "words": _words(),
        "cultures": page.labels.cultures,
        "culture_names": [{"lcid": each.lcid, "name": each.name} for each in page.labels.cultures],
        "cancel": page.address(tab="diagram"),
    }
    return TemplateResponse(request, "back_office/elements/steps.html", context)


def state_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """Return the stored steps, for a person whose diagram was changed by somebody else meanwhile."""
    return JsonResponse(_state(_drawable_page(request, element)))


@require_POST
def preview_view(request: HttpRequest, element: str) -> HttpResponseBase:
    """Return the picture of the posted steps and the findings of the checks; nothing is stored."""
    page = _drawable_page(request, element)
    culture, steps = _read_posted(page, request.body)
    known = _read_known(page, steps)
    context = {"picture": lambda: _draw(page, culture, steps, known), "findings": lambda: _findings(steps)}
    return ReadPage(request, "back_office/elements/steps_preview.html", context)


def _drawable_page(request: HttpRequest, element: str) -> ElementPage:
    """Return the page of an element whose diagram the caller can change."""
    page = find_page(request, element, request.GET.get("version"))
    if not page.type.has_diagram:
        raise NotFound(_("Elements of the type %(type)s have no diagram.") % {"type": page.type_name})
    if not page.can_draw:
        by_state = page.standing.lock in (Lock.ALL, Lock.DIAGRAM)
        raise (Conflict if by_state else Forbidden)(page.lock_text or needs_permission(Permission.EDIT))
    return page


def _state(page: ElementPage) -> dict[str, Any]:
    """Return everything that the editor needs, as JSON values: the steps, the types and the addresses."""
    labels, row = page.labels, page.row
    views = labels.configuration.facet(page.type.facet).views
    diagram = read_diagram(row.version)
    steps = _steps(page, diagram)
    content = labels.reader.addresses.view(views.get(DIAGRAM) or page.view)
    return {
        "tag": row.entity_tag,
        "changedBy": _changer(page),
        "changedOn": labels.moment(row.changed_on),
        "culture": str(labels.lcid),
        "types": list(_types(page, (each["type"] for each in steps))),
        "lanes": [each.lane for each in diagram.lanes],
        "steps": steps,
        "most": SHAPES.most,
        "save": f"{content}{row.version}/content",
        "preview": page.address_of("elements_steps_preview"),
        "state": page.address_of("elements_steps_state"),
        "done": page.address(tab="diagram"),
        "choices": reverse("admin:elements_choices"),
    }


def _changer(page: ElementPage) -> str:
    person = page.named.get(page.row.changed_by or "")
    return person.name if person else _("Another user")


def _types(page: ElementPage, used: Iterable[str]) -> Iterable[dict[str, Any]]:
    """Return the types that the diagram takes, and those that it still has although it takes them no more."""
    offered = page.type.insertables
    for key in dict.fromkeys([*offered, *used]):
        type = page.labels.configuration.types[key]
        yield {**_type_state(page.labels, type), "isOffered": key in offered}


def _type_state(labels: OfficeLabels, type: ElementType) -> dict[str, Any]:
    context = role_context(type)
    return {
        "key": type.key,
        "name": labels.type(type),
        "kind": kind_of(type).value,
        "color": type.color,
        "isOwn": type.lives_in_diagrams,
        "roles": context,
        "rolesName": next((labels.property(each) for each in type.properties if each.key == context), ""),
    }


def role_context(type: ElementType) -> str:
    """Return the context of those who carry out a step: roles, or else people; empty if the type has neither."""
    contexts = [
        (each.related.facet, each.key)
        for each in type.properties
        if each.related and not each.related.read_only and each.key not in SERVER_CONTEXTS
    ]
    return next((key for wanted in (ROLES, PEOPLE) for facet, key in contexts if facet == wanted), "")


def _steps(page: ElementPage, diagram: StoredDiagram) -> list[dict[str, Any]]:
    labels = page.labels
    identities = read_identities(labels.reader.audience, {each.element for each in diagram.shapes})
    wanted = [each.version for each in identities.values()]
    versions = read_versions(wanted, only=(NAME,), most=most_text(len(wanted)))
    contexts = {context for each in labels.configuration.types.values() if (context := role_context(each))}
    related = read_references(list(versions), contexts)
    named = labels.elements(target for held in related.values() for targets in held.values() for target in targets)
    before: dict[str, list[dict[str, Any]]] = {}
    for flow in diagram.flows:
        before.setdefault(flow.shape, []).append({"key": flow.predecessor, "label": flow.label})
    found = []
    for shape in diagram.shapes:
        shown = versions[identities[shape.element].version]
        type = labels.reader.types[shown.type]
        roles = related.get(shown.version, {}).get(role_context(type), ())
        found.append(
            {
                "key": shape.shape,
                "shape": shape.shape,
                "element": shown.element,
                "type": type.key,
                "names": read_exactly(shown.attributes).get(NAME, {}),
                "before": before.get(shape.shape, []),
                "roles": [{"id": each, "text": named[each].name} for each in roles if each in named],
                "lane": shape.lane,
                "container": shape.container,
                "host": shape.host,
            }
        )
    return found


@dataclass(frozen=True, slots=True)
class PostedStep:
    """A step that the editor shows, checked for its form only, because nobody stores it."""

    key: str
    type: ElementType
    names: Mapping[str, str]
    before: Mapping[str, Mapping[str, str]]
    roles: Sequence[str]
    """Ids of the elements that carry out the step."""
    element: str
    container: str
    host: str

    @classmethod
    def read(cls, page: ElementPage, document: Mapping[str, Any]) -> Self:
        before = {str(each["key"]): _texts(each["label"]) for each in document["before"]}
        type = page.labels.configuration.types[document["type"]]
        roles = [_id(each) for each in document["roles"]]
        around = (str(document.get(name) or "") for name in ("container", "host"))
        element = _id(document["element"]) if document.get("element") else ""
        return cls(str(document["key"]), type, _texts(document["name"]), before, roles, element, *around)


def _id(value: Any) -> str:
    return str(UUID(str(value)))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(culture): str(text) for culture, text in values.items()}


def _read_posted(page: ElementPage, body: bytes) -> tuple[int, list[PostedStep]]:
    """Return the culture and the steps of a preview."""
    try:
        if has_more_values(body, settings.MAX_VALUES):
            raise ValueError("too many values")
        document = orjson.loads(body)
        culture = int(document["culture"])
        steps = [PostedStep.read(page, each) for each in document["steps"]]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(_("These steps cannot be read. Reload the page.")) from error
    if culture not in page.labels.configuration.cultures.data:
        raise Unreadable(_("The storage does not have this culture. Reload the page."))
    if problem := SHAPES.problem(len(steps)):
        raise Unreadable(problem)
    return culture, steps


@dataclass(frozen=True, slots=True)
class KnownElements:
    """Stored elements of the steps by their ids, and what the picture shows beside them."""

    versions: Mapping[str, VersionRow]
    targets: NoteTargets


def _read_known(page: ElementPage, steps: Sequence[PostedStep]) -> KnownElements:
    """Read in a fixed number of statements what a picture shows of stored elements and is not typed in the editor."""
    reader = page.labels.reader
    if len(steps) > MAX_SHAPES:
        return KnownElements({}, NO_TARGETS)
    identities = read_identities(reader.audience, {each.element for each in steps if each.element})
    wanted = [each.version for each in identities.values()]
    found = read_versions(wanted, only=(NAME, *GROUP_ATTRIBUTES), most=most_text(len(wanted)))
    versions = {each.element: each for each in found.values()}
    return KnownElements(
        versions, read_note_targets(reader, versions.values(), {role for each in steps for role in each.roles})
    )


def _shape(page: ElementPage, culture: int, rank: int, step: PostedStep, known: KnownElements) -> DrawableShape:
    labels, reader = page.labels, page.labels.reader
    row, names, group = known.versions.get(step.element), step.names, MapGroup.CORE
    held: dict[str, Sequence[str]] = {}
    if row is not None:
        attributes = orjson.loads(row.attributes)
        held |= known.targets.of(row)
        group = map_group(reader, row, attributes)
        names = step.names if step.type.lives_in_diagrams else attributes.get(NAME, {})
    if row is None or step.type.lives_in_diagrams:
        held[role_context(step.type)] = step.roles
    return DrawableShape(
        step.key,
        rank,
        kind_of(step.type),
        chosen_name(names, culture, labels.configuration.cultures) or labels.type(step.type),
        labels.type(step.type),
        step.type.color,
        f"#step-{step.key}",
        container=step.container,
        host=step.host,
        notes=shape_notes(reader, step.type, held, known.targets, culture),
        group=group,
    )


def _draw(page: ElementPage, culture: int, steps: Sequence[PostedStep], known: KnownElements) -> SafeString:
    labels, cultures = page.labels, page.labels.configuration.cultures
    shapes = [_shape(page, culture, rank, each, known) for rank, each in enumerate(steps)]
    flows = [
        DrawableFlow(before, each.key, chosen_name(label, culture, cultures))
        for each in steps
        for before, label in each.before.items()
    ]
    words = words_in(language_of(culture))
    size = words.size.format(shapes=len(shapes), arrows=len(flows))
    is_too_large = len(shapes) > MAX_SHAPES or len(flows) > MAX_ARROWS
    notice = words.too_large if is_too_large else _("There are no steps yet.")
    texts = DiagramTexts((locale_name(culture) or "").replace("_", "-"), page.name, size, notice, words)
    drawing = Drawing([] if is_too_large else shapes, flows, is_map=is_map(labels.reader, page.row))
    return mark_safe(draw(texts, drawing, LayoutKey.DETAILED, with_style=False))  # noqa: S308  drawn by us, with every text escaped


def _flows(steps: Sequence[PostedStep]) -> list[tuple[str, str]]:
    return [(before, each.key) for each in steps for before in each.before]


def _findings(steps: Sequence[PostedStep]) -> list[dict[str, str]]:
    texts = {
        FlowFault.NO_START: _("The process has no start event."),
        FlowFault.DEAD_END: _("Nothing follows this step. Add the next step or an end event."),
        FlowFault.IDLE_GATEWAY: _("This gateway neither splits nor joins branches."),
        FlowFault.UNREACHABLE: _("No path leads from a start event to this step."),
    }
    around = {each.key: each.host or each.container for each in steps if each.host or each.container}
    found = find_faults({each.key: kind_of(each.type) for each in steps}, _flows(steps), around)
    return [{"key": each.key, "text": texts[each.fault]} for each in found]


def _words() -> dict[str, str]:
    """Return the texts of the editor's script."""
    return {
        "step": _("Step {number}: {name}"),
        "unnamed": _("without a name"),
        "empty": _("There are no steps."),
        "full": _("A diagram can have at most {most} steps."),
        "impossible": _("This is not possible here."),
        "tabLeaves": _("Tab now goes to the next field."),
        "joined": _("{step} follows {numbers}."),
        "branched": _("{step} is a branch after {numbers}."),
        "drag": _("Drag to move"),
        "typeOf": _("Type of step {number}"),
        "nameOf": _("Name of step {number}"),
        "nameIn": _("Name of step {number} in {culture}"),
        "beforeOf": _("Numbers of the steps before step {number}"),
        "labelOf": _("Label of the flow from step {from} to step {number}"),
        "label": _("Label"),
        "from": _("from {from}"),
        "roleOf": _("Who carries out step {number}"),
        "removeRole": _("Remove {name}"),
        "found": _("Elements found"),
        "matches": _("{count} elements found"),
        "otherElement": _("Choose another element"),
        "translations": _("Names in other languages"),
        "translationsOf": _("Names of step {number} in other languages"),
        "remove": _("Delete step"),
        "removeOf": _("Delete step {number}"),
        "noStep": _("There is no such step before this one: {numbers}. Use numbers from 1 to {count}."),
        "saving": _("Saving"),
        "notSaved": _("Nothing was saved. Your input is kept."),
        "locked": _("This version can no longer be changed, or you no longer have access to it."),
        "offline": _("The server does not answer. Try again."),
        "conflict": _(
            "{who} has changed this diagram since you opened it ({when}). Your steps are kept, and these changes were"
            " added. Check them and save again."
        ),
        "added": _("Added: {name}"),
        "removed": _("Removed: {name}"),
        "removedByThem": _("Removed, but you have changed it; it is added again when you save: {name}"),
        "removedByYou": _("Changed, but you have deleted it; it is deleted when you save: {name}"),
        "changed": _("Changed: {name}"),
        "both": _("Changed by both of you; your input is kept: {name}"),
    }


for _route, _view, _name in (
    ("", steps_view, "elements_steps"),
    ("state/", state_view, "elements_steps_state"),
    ("preview/", preview_view, "elements_steps_preview"),
):
    storage_office.add_page(f"elements/element/<str:element>/steps/{_route}", _view, _name)
