"""Names and descriptions of the roles (D20)."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _

from storage.options import Role

ROLE_NAMES = {
    Role.VIEWER: _("Viewer"),
    Role.ANALYZER: _("Analyzer"),
    Role.EDITOR: _("Editor"),
    Role.APPROVER: _("Approver"),
    Role.ARCHITECT: _("Architect"),
    Role.ADMINISTRATOR: _("Administrator"),
}
ROLE_SENTENCES = {
    Role.VIEWER: _("Reads released content."),
    Role.ANALYZER: _("Reads everything, including content in process, and creates reports."),
    Role.EDITOR: _("Also creates, changes and deletes elements, except those of architectural types."),
    Role.APPROVER: _("Reads everything and approves releases."),
    Role.ARCHITECT: _("Changes and approves elements of every type."),
    Role.ADMINISTRATOR: _("Has all permissions, and manages access and the configuration."),
}


def role_names(roles: Iterable[str]) -> list[str]:
    """Return the names of roles, from the least to the most powerful."""
    given = set(roles)
    return [str(ROLE_NAMES[role]) for role in Role if role in given]
