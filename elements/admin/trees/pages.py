"""The trees of a storage. The address lists the open branches, so that the page works with links and buttons alone;
with scripts, only the parts that change are replaced, and elements can be dragged (D481)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from elements.admin.detail import facts_of, office_context
from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.linking import linked_texts
from elements.admin.listing.filters import PlaceFilter
from elements.admin.panels import ElementPage, add_address, addable_below, find_page, makeable_types
from elements.admin.searching import find
from elements.admin.trees.moving import (
    BEFORE,
    TOP,
    UNDO,
    TreeMove,
    apply_move,
    following,
    last_move,
    readable,
    steps_of,
)
from elements.permissions import Permission, granted_to
from elements.presentation.labels import Named
from elements.presentation.page_requests import content_writer_of
from elements.presentation.trees import AddableType, Branch, Tree, TreePlace
from elements.presentation.trees import tree_view as find_tree
from elements.reading.assembly.assembler import ancestors
from elements.reading.lists.selection import read_page
from elements.reading.rows import read_parents
from elements.search.finding import HitFilter
from facets.configuration import CompiledView
from repository_site.core.database.statements import read_together
from repository_site.core.problems import NotFound, Problem
from repository_site.core.rest.errors import status_of
from repository_site.core.wording import GUID, clean_text
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.pages import ReadPage, caller_of

# Roots, and children of one branch, by default and if all are asked for; the list shows the rest.
MANY, SIBLINGS, MOST_SIBLINGS = 200, 100, 1_000
# Branches that are open at once. Each branch on the page has an address that lists all of them.
MAX_OPEN = 70
OPEN, ALL = "open", "all"
MOST_FOUND = 20
DETAILS = "back_office/elements/tree_details.html"
STEPS = {
    "up": gettext_lazy("Move up"),
    "down": gettext_lazy("Move down"),
    "in": gettext_lazy("Move into the element above"),
    "out": gettext_lazy("Move out of its parent"),
    "top": gettext_lazy("Move to the top of the tree"),
}


@require_GET
def tree_view(request: HttpRequest) -> HttpResponseBase:
    return _show(request, request.GET)


def _show(request: HttpRequest, given: Mapping[str, str], problem: Problem | None = None) -> HttpResponseBase:
    labels = labels_of(request)
    found = ((name, find_tree(facet)) for name, facet in labels.configuration.facets.items())
    known = {name: view for name, view in found if view is not None}
    facet = given.get("facet", "")
    # By default, show the tree with the most types: it is the main content of the storage.
    chosen = facet if facet in known else max(known, key=lambda name: len(known[name].types), default="")
    context: dict[str, Any] = {
        **office_context(request, _("Tree"), is_below_list=False),
        "facets": [
            {"title": labels.facet(name), "address": _address(name, ()), "is_chosen": name == chosen} for name in known
        ],
        "chosen": chosen,
        "problems": linked_texts(labels, map(readable, problem.details)) if problem else [],
    }
    if chosen:
        view, opened, text = known[chosen], _opened(given), clean_text(given.get("q", ""))
        shows_all = given.get(ALL) == "1"
        branches, has_more = _branches(request, labels, view, opened, shows_all=shows_all)
        types = view.types
        makeable = [each for each in makeable_types(labels, caller_of(request)) if each.key in types]
        addable = [each for each in makeable if types[each.key].is_root]
        roots = [AddableType(labels.type(each), each.color, add_address(each.key)) for each in addable]
        context |= {"branches": branches, "has_more": has_more, "many": MANY, "roots": roots, "steps": STEPS}
        context["here"] = _address(chosen, ())
        context |= {"open": ",".join(opened), "text": text, "found": _found(labels, view, text) if text else None}
        more = "" if shows_all else _address(chosen, opened, **{ALL: "1"})
        context |= {"shows_all": shows_all, "more": more, "most": MOST_SIBLINGS}
        context["can_move"] = Permission.EDIT in granted_to(caller_of(request))
        context |= _about(request, given)
    unfiled = urlencode({"facet": chosen, PlaceFilter.parameter_name: PlaceFilter.UNFILED})
    context["unfiled"] = f"{reverse('admin:elements_element_changelist')}?{unfiled}"
    return ReadPage(request, "back_office/elements/tree.html", context, status=status_of(problem) if problem else 200)


def _about(request: HttpRequest, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the element that was moved, with the button that undoes it, and the one whose details are shown."""
    found: dict[str, Any] = {}
    if moved := _page(request, given.get("moved", "")):
        move = TreeMove(moved.row.element, moved.row.parent or "", UNDO)
        if not moved.row.parent and GUID.fullmatch(given.get(BEFORE, "")):
            move = TreeMove(moved.row.element, "", BEFORE, given[BEFORE])
        found |= {"moved": moved, "undo": str(move) if last_move(moved) else ""}
    if detailed := _page(request, given.get("details", "")):
        found |= _details(detailed)
    return found


def _page(request: HttpRequest, element: str) -> ElementPage | None:
    try:
        return find_page(request, element) if element else None
    except NotFound:
        return None


def _details(page: ElementPage) -> dict[str, Any]:
    # All elements that the page names are read before it is rendered.
    links = {"open": page.address(), "edit": page.address_of("elements_edit") if page.is_editable else ""}
    return {"page": page, "path": page.path, "facts": list(facts_of(page)), "links": links}


@require_GET
def details_view(request: HttpRequest, element: str) -> HttpResponseBase:
    return ReadPage(request, DETAILS, _details(find_page(request, element)))


@require_POST
def move_view(request: HttpRequest) -> HttpResponseBase:
    """Move an element. A refused move shows the tree as it is now, with the same branches open."""
    writer = content_writer_of(request)
    given = {name: str(value) for name, value in request.POST.items()}
    try:
        move = TreeMove.read(given.get("move", ""))
        page = find_page(request, move.element)
        below = following(writer, page) if move.kind == TOP else ""
        parent = apply_move(writer, page, move, find_tree(writer.configuration.facet(page.type.facet)))
    except Problem as problem:
        return _show(request, given, problem)
    opened = [*_opened(given), *([parent] if parent else [])]
    more = {**({ALL: "1"} if given.get(ALL) == "1" else {}), **({BEFORE: below} if below else {})}
    address = _address(given.get("facet", ""), list(dict.fromkeys(opened)), move.element, moved=move.element, **more)
    return redirect(address)


def _opened(given: Mapping[str, str]) -> list[str]:
    ids = [each.lower() for each in given.get(OPEN, "").split(",") if GUID.fullmatch(each)]
    return list(dict.fromkeys(ids))[-MAX_OPEN:]


def _address(facet: str, open_elements: Sequence[str], at: str = "", **more: str) -> str:
    opened = {OPEN: ",".join(open_elements)} if open_elements else {}
    address = f"{reverse('admin:elements_tree')}?{urlencode({'facet': facet, **opened, **more}, safe=',')}"
    return f"{address}#at-{at}" if at else address


def _branches(
    request: HttpRequest, labels: OfficeLabels, view: CompiledView, opened: Sequence[str], *, shows_all: bool
) -> tuple[list[Branch], bool]:
    """Return the branches from the roots on, and whether there are more roots."""
    tree, caller = Tree(labels, view, MOST_SIBLINGS if shows_all else SIBLINGS), caller_of(request)
    more = {ALL: "1"} if shows_all else {}
    roots = [row.identity for row in read_page(tree.roots, MANY + 1)]
    makeable = makeable_types(labels, caller)

    def toggle(at: TreePlace) -> str:
        others = [each for each in opened if each != at.element]
        return _address(view.facet.name, others if at.is_open else [*others, at.element], at.element, **more)

    def offers(link: Named) -> Sequence[AddableType]:
        return addable_below(labels, makeable, link.type, link.element)

    moves = steps_of(caller, view)
    [branches] = read_together(tree.grow(roots[:MANY], opened, toggle, offers, moves))
    return branches, len(roots) > MANY


def _found(labels: OfficeLabels, view: CompiledView, text: str) -> list[tuple[Named, str]]:
    """Return the best hits of a search in this tree, each with the address that opens the branches above it."""
    ids = labels.configuration.type_ids
    types = [str(ids[key]) for key, shown in view.types.items() if not shown.type.lives_in_diagrams]
    result = find(labels.reader, text, HitFilter(types), limit=MOST_FOUND)
    named = labels.versions(result.found.versions) if result and result.found.versions else {}
    hits = [named[each] for each in result.found.versions if each in named] if result else []
    hits = [each for each in hits if each.type.key in view.types and not each.type.lives_in_diagrams][:MOST_FOUND]
    parents = read_parents({each.element for each in hits})
    found = []
    for hit in hits:
        above = [each for each in ancestors(hit.element, parents) if each != hit.element]
        # The element may be far down among its siblings.
        more = {"details": hit.element, ALL: "1"}
        found.append((hit, _address(view.facet.name, list(reversed(above)), hit.element, **more)))
    return found


storage_office.add_page("elements/tree/", tree_view, "elements_tree")
storage_office.add_page("elements/tree/move/", move_view, "elements_tree_move")
storage_office.add_page("elements/tree/details/<str:element>/", details_view, "elements_tree_details")
storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONTENT, gettext_lazy("Tree"), "account_tree", "elements_tree")
)
