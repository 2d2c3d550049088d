"""Charts of requests, in the form that unfold's component draws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import formats, timezone
from django.utils.translation import gettext as _

from storage.models import Storage
from storage.traffic_report import Traffic, traffic_by_day, traffic_by_hour

GREY = "#9ca3af"
OPTIONS = {
    "animation": False,
    "responsive": True,
    "maintainAspectRatio": False,
    "plugins": {"legend": {"display": True, "position": "bottom", "labels": {"boxWidth": 12, "color": GREY}}},
    "scales": {
        "x": {
            "stacked": True,
            "ticks": {"color": GREY, "maxRotation": 0, "autoSkipPadding": 12},
            "grid": {"display": False},
        },
        "y": {"stacked": True, "beginAtZero": True, "ticks": {"color": GREY, "precision": 0}, "grid": {}},
    },
}


@dataclass(frozen=True, slots=True)
class TrafficChart:
    """A chart with its summary in words, for screen readers."""

    title: str
    data: str
    options: str
    summary: str


def traffic_charts(now: datetime, storage: Storage | None = None) -> list[TrafficChart]:
    hours, days = traffic_by_hour(now, storage), traffic_by_day(now, storage)
    return [
        _chart(
            _("Requests, last 24 hours"), [(timezone.localtime(hour).strftime("%H:00"), each) for hour, each in hours]
        ),
        _chart(_("Requests, last 14 days"), [(formats.date_format(day, "j M"), each) for day, each in days]),
    ]


def _chart(title: str, points: Sequence[tuple[str, Traffic]]) -> TrafficChart:
    parts = (
        (_("Successful"), "var(--color-primary-500)", [each.good for _, each in points]),
        (_("Client errors"), "#f59e0b", [each.client_errors for _, each in points]),
        (_("Server errors"), "#dc2626", [each.server_errors for _, each in points]),
    )
    data = {
        "labels": [label for label, _ in points],
        "datasets": [
            {"label": name, "data": values, "backgroundColor": color, "borderRadius": 2, "maxBarThickness": 28}
            for name, color, values in parts
        ],
    }
    summary = ", ".join(f"{name}: {sum(values)}" for name, _, values in parts)
    return TrafficChart(title, json.dumps(data), json.dumps(OPTIONS), summary)
