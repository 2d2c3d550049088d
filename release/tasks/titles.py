"""Types of tasks as titles for people. The API and filters use the types as they are configured."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

# The types of the template `standard`. Those of other configurations are shown as they are.
STANDARD_TITLES = frozenset(
    {
        gettext_noop("Review"),
        gettext_noop("Quality assurance"),
        gettext_noop("Approve release"),
        gettext_noop("Approve expiry"),
    }
)


def task_title(type: str) -> str:
    return gettext(type) if type in STANDARD_TITLES else type
