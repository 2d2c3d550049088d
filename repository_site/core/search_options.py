"""Places that a search box offers while somebody types, for reader pages and both back offices (D403)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

TEMPLATE = "presentation/search_options.html"


@dataclass(frozen=True, slots=True)
class SearchOption:
    title: str
    link: str
    about: str = ""
    lang: str = ""
    """Language tag of the title, if it is not the language of the page."""


def show_options(request: HttpRequest, options: Sequence[SearchOption]) -> HttpResponse:
    return render(request, TEMPLATE, {"options": options})
