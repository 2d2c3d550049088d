"""Labels, help texts and permissions that the forms and their tables share."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from facets.admin.drafting.snapshot import snapshot_of
from facets.admin.drafting.text_fields import TextsField
from facets.models.base import Texts
from storage.options import Role
from storage.pages import caller_of

TEXT_LABELS = {
    "display_names": _("Names"),
    "descriptions": _("Descriptions"),
    "tooltips": _("Tooltips"),
    "messages": _("Messages"),
}
TEXT_HELP = {
    "display_names": _(
        "The name that people see. Where a culture has none, the API falls back to the same"
        " language, the default culture, the storage's other cultures, English, and last the key."
    ),
    "descriptions": _("An explanation for documentation and editors. Optional."),
    "tooltips": _("A short hint that editors show next to the field. Optional."),
    "messages": _("The message that callers get when the rule is not met."),
}
NEEDED = frozenset({"display_names", "messages"})
AREAS = frozenset({"descriptions"})


def may_edit(request: HttpRequest) -> bool:
    """Return whether the caller is an administrator, who alone can change the configuration (D20)."""
    return Role.ADMINISTRATOR in caller_of(request).roles


def may_fill_in(request: HttpRequest) -> bool:
    """Return whether to build the form; other callers see it with all fields disabled and cannot post it."""
    return may_edit(request) or request.method in ("GET", "HEAD")


class ConfigurationFields:
    texts_kind: ClassVar[str] = "line"
    labels: ClassVar[dict[str, Any]] = {}
    helps: ClassVar[dict[str, Any]] = {}

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        name = db_field.name
        if isinstance(db_field, Texts):
            is_line = self.texts_kind == "line" or name in getattr(self, "folded", ())
            kind = "area" if name in AREAS else "line"
            return TextsField(
                cultures=snapshot_of(request).cultures,
                kind=kind if is_line else self.texts_kind,
                required=name in NEEDED,
                label=self.labels.get(name, TEXT_LABELS[name]),
                help_text=self.helps.get(name, TEXT_HELP[name]) if is_line else "",
            )
        if name in self.labels:
            options["label"] = self.labels[name]
        if name in self.helps:
            options["help_text"] = self.helps[name]
        return super().formfield_for_dbfield(db_field, request, **options)  # type: ignore[misc]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_edit(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_edit(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_edit(request) if obj is None else may_fill_in(request)
