"""The trees of a storage. The address lists the open branches, so that the page works with links alone; with scripts,
only the branch that is opened or closed is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.detail import office_context
from elements.admin.filters import PlaceFilter
from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.panels import add_address, addable_below, makeable_types
from elements.presentation.trees import AddableType, Branch, Tree, TreePlace
from elements.presentation.trees import tree_view as find_tree
from elements.reading.lists.selection import read_page
from facets.configuration import CompiledView
from repository_site.core.wording import GUID
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.pages import ReadPage, caller_of

# Roots, and children of one branch; the list shows the rest.
MANY, SIBLINGS = 200, 100
# Branches that are open at once. Each branch on the page has an address that lists all of them.
MAX_OPEN = 70
OPEN = "open"


def tree_view(request: HttpRequest) -> HttpResponseBase:
    labels = labels_of(request)
    found = ((name, find_tree(facet)) for name, facet in labels.configuration.facets.items())
    known = {name: view for name, view in found if view is not None}
    facet = request.GET.get("facet", "")
    # By default, show the tree with the most types: it is the main content of the storage.
    chosen = facet if facet in known else max(known, key=lambda name: len(known[name].types), default="")
    context = {
        **office_context(request, _("Tree"), is_below_list=False),
        "facets": [
            {"title": labels.facet(name), "address": _address(name, ()), "is_chosen": name == chosen} for name in known
        ],
        "chosen": chosen,
    }
    if chosen:
        branches, has_more = read_branches(request, labels, known[chosen])
        types = known[chosen].types
        makeable = [each for each in makeable_types(labels, caller_of(request)) if each.key in types]
        addable = [each for each in makeable if types[each.key].is_root]
        roots = [AddableType(labels.type(each), each.color, add_address(each.key)) for each in addable]
        context |= {"branches": branches, "has_more": has_more, "many": MANY, "roots": roots}
    unfiled = urlencode({"facet": chosen, PlaceFilter.parameter_name: PlaceFilter.UNFILED})
    context["unfiled"] = f"{reverse('admin:elements_element_changelist')}?{unfiled}"
    return ReadPage(request, "back_office/elements/tree.html", context)


def _address(facet: str, open_elements: Sequence[str], anchor: str = "") -> str:
    given = urlencode({"facet": facet, **({OPEN: ",".join(open_elements)} if open_elements else {})}, safe=",")
    return f"{reverse('admin:elements_tree')}?{given}" + (f"#{anchor}" if anchor else "")


def read_branches(request: HttpRequest, labels: OfficeLabels, view: CompiledView) -> tuple[list[Branch], bool]:
    """Return the branches from the roots on, and whether there are more roots."""
    given = [each.lower() for each in request.GET.get(OPEN, "").split(",") if GUID.fullmatch(each)]
    opened = list(dict.fromkeys(given))[-MAX_OPEN:]
    tree, caller = Tree(labels, view, SIBLINGS), caller_of(request)
    roots = [row.identity for row in read_page(tree.roots, MANY + 1)]

    def toggle(at: TreePlace) -> str:
        others = [each for each in opened if each != at.element]
        return _address(view.facet.name, others if at.is_open else [*others, at.element], f"at-{at.element}")

    branches = tree.grow(
        roots[:MANY], opened, toggle, lambda link: addable_below(labels, caller, link.type, link.element)
    )
    return branches, len(roots) > MANY


storage_office.add_page("elements/tree/", tree_view, "elements_tree")
storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONTENT, gettext_lazy("Tree"), "account_tree", "elements_tree")
)
