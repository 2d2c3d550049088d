"""The trees of a storage. What is open stands in the address, so that it works by links alone; with scripts, only the
branch that is opened or closed is replaced.

However much is open, the statements are the same: the roots, the children of all that is open, which of all these have
children, and their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.detail import office_context
from elements.admin.filters import PlaceFilter
from elements.admin.labels import Labels, Named, labels_of
from elements.admin.panels import Addable, add_address, addable_below, makeable_types
from elements.reading.selection import roots_of_types
from facets.configuration import CompiledView
from repository_site.core.database.statements import fetch
from repository_site.core.wording import GUID
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.pages import caller_of

# Of one branch; the list shows what is beyond.
MANY = 200
MAX_OPEN = 200
OPEN = "open"


@dataclass(frozen=True, slots=True)
class Branch:
    """An element in the tree. `address` opens or closes it; empty when nothing is below it."""

    named: Named
    address: str
    is_open: bool
    children: Sequence[Branch]
    has_more: bool
    addable: Sequence[Addable]


def trees(labels: Labels) -> dict[str, CompiledView]:
    """By facet: the view `tree`, else the first that is hierarchical."""
    found = {}
    for facet in labels.configuration.facets.values():
        views = [each for each in facet.views.values() if each.view.is_hierarchical]
        if views:
            found[facet.facet.name] = next((each for each in views if each.view.name == "tree"), views[0])
    return found


def tree_view(request: HttpRequest) -> HttpResponseBase:
    labels = labels_of(request)
    known = trees(labels)
    facet = request.GET.get("facet", "")
    # Without a choice the tree with the most types, which is what the storage is mainly about.
    chosen = facet if facet in known else max(known, key=lambda name: len(known[name].types), default="")
    context = {
        **office_context(request, _("Tree")),
        "facets": [
            {"title": labels.facet(name), "address": _address(name, ()), "is_chosen": name == chosen} for name in known
        ],
        "chosen": chosen,
    }
    if chosen:
        tree = Tree(request, labels, known[chosen])
        context |= {"branches": tree.branches(), "has_more": tree.has_more, "many": MANY, "roots": tree.addable_roots()}
    unfiled = urlencode({"facet": chosen, PlaceFilter.parameter_name: PlaceFilter.UNFILED})
    context["unfiled"] = f"{reverse('admin:elements_element_changelist')}?{unfiled}"
    return TemplateResponse(request, "back_office/elements/tree.html", context)


def _address(facet: str, open_elements: Sequence[str], anchor: str = "") -> str:
    given = urlencode({"facet": facet, **({OPEN: ",".join(open_elements)} if open_elements else {})}, safe=",")
    return f"{reverse('admin:elements_tree')}?{given}" + (f"#{anchor}" if anchor else "")


class Tree:
    """One facet's tree as far as it is open."""

    def __init__(self, request: HttpRequest, labels: Labels, view: CompiledView) -> None:
        self.caller = caller_of(request)
        self.labels = labels
        self.view = view
        given = [each.lower() for each in request.GET.get(OPEN, "").split(",") if GUID.fullmatch(each)]
        self.opened = list(dict.fromkeys(given))[:MAX_OPEN]
        ids = labels.configuration.type_ids
        self.types = [str(ids[key]) for key, each in view.types.items() if not each.type.lives_in_diagrams]
        self.root_types = [str(ids[key]) for key, each in view.types.items() if each.is_root]
        self.has_more = False

    def branches(self) -> list[Branch]:
        roots = self._roots()
        self.has_more = len(roots) > MANY
        children = self._children()
        shown = {*roots[:MANY], *(each for found in children.values() for each in found[:MANY])}
        self.named = self.labels.elements(shown)
        self.parents = self._with_children(shown)
        return [self._branch(each, children) for each in roots[:MANY] if each in self.named]

    def addable_roots(self) -> list[Addable]:
        types = [each for each in makeable_types(self.labels, self.caller) if each.key in self.view.types]
        roots = [each for each in types if self.view.types[each.key].is_root]
        return [Addable(self.labels.type(each), each.color, add_address(each.key)) for each in roots]

    def _branch(self, element: str, children: Mapping[str, Sequence[str]]) -> Branch:
        named, is_open = self.named[element], element in self.opened
        below = children.get(element, ()) if is_open else ()
        address = ""
        if element in self.parents:
            others = [each for each in self.opened if each != element]
            address = _address(self.view.facet.name, others if is_open else [*others, element], f"at-{element}")
        return Branch(
            named,
            address,
            is_open and bool(below),
            [self._branch(each, children) for each in below[:MANY] if each in self.named],
            len(below) > MANY,
            addable_below(self.labels, self.caller, named.type, element),
        )

    def _roots(self) -> list[str]:
        selection = roots_of_types(self.labels.reader.audience, self.root_types)
        sql = f"SELECT e.id::text FROM {selection.source} ORDER BY {selection.order} LIMIT %s"  # noqa: S608  constants of ours
        return [row[0] for row in fetch(sql, [*selection.parameters, MANY + 1])]

    def _children(self) -> dict[str, list[str]]:
        """Of all that is open, in their order; one more than is shown tells that there are others."""
        sql = """SELECT p.id::text, c.id::text FROM unnest(%s::uuid[]) AS p (id) CROSS JOIN LATERAL (
                SELECT e.id, e.position FROM elements_element e WHERE e.parent_id = p.id AND e.type_id = ANY(%s::uuid[])
                ORDER BY e.position, e.id LIMIT %s) c
            ORDER BY p.id, c.position, c.id"""
        found: dict[str, list[str]] = {}
        for parent, child in fetch(sql, [self.opened, self.types, MANY + 1]) if self.opened else ():
            found.setdefault(parent, []).append(child)
        return found

    def _with_children(self, elements: set[str]) -> set[str]:
        sql = """SELECT p.id::text FROM unnest(%s::uuid[]) AS p (id) WHERE EXISTS (
            SELECT FROM elements_element e WHERE e.parent_id = p.id AND e.type_id = ANY(%s::uuid[]))"""
        return {row[0] for row in fetch(sql, [sorted(elements), self.types])} if elements else set()


storage_office.add_page("elements/tree/", tree_view, "elements_tree")
storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONTENT, gettext_lazy("Tree"), "account_tree", "elements_tree")
)
