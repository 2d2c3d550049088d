"""Changes of the limits and the end of a token in the back offices (D509)."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from storage.admin.tokens.forms import ChangeForm
from storage.admin.tokens.rotation import RotationPages
from storage.back_office.domain_forms import FormPage


class LimitPages(RotationPages):
    @action(description=_("Change limits"), url_path="limits", icon="tune", permissions=["rotate"])
    def change_limits(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Change a token that can also be rotated: one that has not ended, in the back office that it belongs to."""
        token = self._found(request, object_id)
        if not self.may_rotate(token):
            raise PermissionDenied
        form = ChangeForm(token, request.POST if request.method == "POST" else None)
        changed = form.change() if form.is_valid() else None
        if changed is not None:
            text = _("The limits of “%s” have been changed.") if changed else _("Nothing has changed.")
            messages.success(request, text % token if changed else text)
            return redirect("admin:storage_apitoken_change", token.pk)
        return FormPage(_("Limits of the token"), _("Save"), form.fieldsets, token).render(self, request, form)
