"""The charts of the overview: data for Chart.js, and the same data as a table with links."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import formats
from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels
from elements.sizes.counting import ElementCounts
from facets.blueprint.cycles import Category
from facets.state_categories import CATEGORY_COLORS, CATEGORY_NAMES
from release.releases import Week, total
from storage.back_office.cells import number

# More bars than this need a taller chart.
MANY = 8
# Readable on light and on dark pages.
TEXT = "#7b8494"


@dataclass(frozen=True, slots=True)
class ChartCell:
    text: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    headers: Sequence[str]
    rows: Sequence[tuple[ChartCell, Sequence[ChartCell]]]
    """Row header and numbers of each row."""


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    summary: str
    """Text alternative of the chart."""
    data: str
    options: str
    size: str
    """Height of the chart, which depends on the number of bars."""
    table: Table
    is_empty: bool
    empty: str
    """Text that is shown instead of an empty chart."""


def facet_chart(labels: OfficeLabels, counts: ElementCounts, address: Callable[..., str]) -> Chart:
    """Return elements by facet and by category of state, without empty facets and categories."""
    facets = [facet for facet, found in counts.by_facet.items() if any(found.values())]
    stages = [each for each in Category if counts.of(each)]
    names = {each: labels.facet(each) for each in facets}
    data = {
        "labels": [names[each] for each in facets],
        "datasets": [
            {
                "label": str(CATEGORY_NAMES[stage]),
                "data": [counts.by_facet[each].get(stage, 0) for each in facets],
                "backgroundColor": CATEGORY_COLORS[stage],
            }
            for stage in stages
        ],
    }
    rows = [
        (
            ChartCell(names[each], address(facet=each)),
            [
                *(
                    _number(counts.by_facet[each].get(stage, 0), address(facet=each, stage=stage.value))
                    for stage in stages
                ),
                _number(sum(counts.by_facet[each].values()), address(facet=each)),
            ],
        )
        for each in facets
    ]
    headers = [_("Facet"), *(str(CATEGORY_NAMES[each]) for each in stages), _("All")]
    return Chart(
        _("Elements by facet and state"),
        _("Bar chart: %(total)s elements in %(facets)s facets, by category of state.")
        % {"total": number(counts.total), "facets": len(facets)},
        json.dumps(data),
        json.dumps(_options(lying=True, with_legend=True)),
        "tall" if len(facets) > MANY else "medium",
        Table(headers, rows),
        not facets,
        _("There are no elements yet."),
    )


def week_chart(weeks: Sequence[Week], address: Callable[..., str]) -> Chart:
    days = [formats.date_format(each.monday, "SHORT_DATE_FORMAT") for each in weeks]
    color = CATEGORY_COLORS[Category.PUBLISHED]
    data = {
        "labels": [formats.date_format(each.monday, _("j M")) for each in weeks],
        "datasets": [
            {
                "label": _("Releases"),
                "data": [each.releases for each in weeks],
                "backgroundColor": color,
            }
        ],
    }
    rows = [
        (
            ChartCell(day),
            [_number(each.releases, address("release_lifecycleentry", step="release", week=each.monday.isoformat()))],
        )
        for each, day in zip(weeks, days, strict=True)
    ]
    return Chart(
        _("Releases of the last %(number)s weeks") % {"number": len(weeks)},
        _("Bar chart: %(total)s releases by week.") % {"total": number(total(weeks))},
        json.dumps(data),
        json.dumps(_options(lying=False, with_legend=False)),
        "medium",
        Table([_("Week starting"), _("Releases")], rows),
        not total(weeks),
        _("Nothing has been released in these weeks."),
    )


def _number(value: int, address: str) -> ChartCell:
    """Link a number to its list, except zero."""
    return ChartCell(number(value), address if value else "")


def _options(*, lying: bool, with_legend: bool) -> dict[str, Any]:
    axis = {"stacked": True, "ticks": {"color": TEXT, "precision": 0, "autoSkip": not lying}, "grid": {"tickWidth": 0}}
    return {
        "animation": False,
        "responsive": True,
        "maintainAspectRatio": False,
        "indexAxis": "y" if lying else "x",
        "maxBarThickness": 22,
        "scales": {"x": axis, "y": {**axis, "beginAtZero": True}},
        "plugins": {
            "legend": {"display": with_legend, "position": "bottom", "labels": {"color": TEXT, "boxWidth": 12}}
        },
    }
