"""Origins of web pages in the settings of a storage (D576)."""

from __future__ import annotations

import re

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from repository_site.core.wording import printable

MOST_ORIGINS = 50
DEFAULT_PORTS = {"http": "80", "https": "443"}
# As browsers write origins: in lower case, international names in their ASCII form, and without a default port.
FORM = re.compile(r"(https?)://(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:]{2,39}\])(?::([1-9][0-9]{0,4}))?")


def origins_problem(text: str) -> str | None:
    """Return the first problem of a list of origins, which spaces or line breaks separate."""
    given = text.split()
    if len(given) > MOST_ORIGINS:
        return _("more than %(limit)d origins") % {"limit": MOST_ORIGINS}
    for each in given:
        found = FORM.fullmatch(each)
        if found is None or found[2] == DEFAULT_PORTS[found[1]] or int(found[2] or 0) > 65535:
            return _("“%(text)s” is not an origin as browsers send it, such as https://app.example.org") % {
                "text": printable(each, 100)
            }
    return None


def validate_origins(text: str) -> None:
    if problem := origins_problem(text):
        raise ValidationError(f"{problem}.")
