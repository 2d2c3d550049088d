"""Check of texts by culture that are not attributes: labels of flows, names of lanes (D270)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.utils.translation import gettext as _

from elements.sizes.limits import VALUE
from repository_site.core.rest.rendering import to_json
from repository_site.core.wording import listed, printable


def text_problems(texts: Any, cultures: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the place of each problem, such as `[1033]`, and its text."""
    if not isinstance(texts, dict):
        yield "", _('expected texts by culture, such as {"1033": "Order parts"}')
        return
    for culture, text in texts.items():
        place = f"[{printable(culture, 20)}]"
        if culture not in cultures:
            known = listed(sorted(cultures), _("or"))
            yield place, _("this culture is not allowed here; use %(known)s") % {"known": known}
        elif not isinstance(text, str):
            yield place, _("must be text")
        elif "\x00" in text:
            yield place, _("must not contain a NUL character")
        elif problem := VALUE.problem(len(to_json(text))):
            yield place, problem
