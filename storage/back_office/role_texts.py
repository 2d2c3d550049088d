"""The roles in words for people (D20)."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _

from storage.models.roles import Role

ROLE_NAMES = {
    Role.VIEWER: _("Viewer"),
    Role.ANALYZER: _("Analyzer"),
    Role.EDITOR: _("Editor"),
    Role.APPROVER: _("Approver"),
    Role.ARCHITECT: _("Architect"),
    Role.ADMINISTRATOR: _("Administrator"),
}
ROLE_SENTENCES = {
    Role.VIEWER: _("Reads what is published."),
    Role.ANALYZER: _("Reads everything, drafts included, and reports."),
    Role.EDITOR: _("Also makes, changes and deletes elements, except those of architectural types."),
    Role.APPROVER: _("Reads everything and approves releases."),
    Role.ARCHITECT: _("Changes and approves everything, of every type."),
    Role.ADMINISTRATOR: _("Does everything, and manages access and the configuration."),
}


def role_names(roles: Iterable[str]) -> list[str]:
    """In the order of power."""
    given = set(roles)
    return [str(ROLE_NAMES[role]) for role in Role if role in given]
