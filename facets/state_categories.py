"""Names and colours of state categories, for every page, chart and diagram that shows states to people.

`repository_site/assets/states.css` has the same colours for badges, with shades for light and dark pages.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from facets.blueprint.cycles import Category

CATEGORY_NAMES: dict[Category, Promise] = {
    Category.DRAFT: _("In process"),
    Category.REVIEW: _("In review"),
    Category.PUBLISHED: _("Released"),
    Category.RETIRED: _("Expired"),
    Category.STATIC: _("Without versions"),
}
# Each has a contrast of at least 3:1 with white and with the dark page, as graphics need (WCAG 1.4.11).
CATEGORY_COLORS: dict[Category, str] = {
    Category.DRAFT: "#3b82f6",
    Category.REVIEW: "#d97706",
    Category.PUBLISHED: "#16a34a",
    Category.RETIRED: "#7b8494",
    Category.STATIC: "#8b5cf6",
}
