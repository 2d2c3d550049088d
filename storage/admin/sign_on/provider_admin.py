"""Identity providers in the site's back office."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.enums import ActionVariant

from storage.admin.sign_on.forms import ProviderForm
from storage.admin.sign_on.rule_page import rules_page
from storage.admin.site_base import SiteModelAdmin
from storage.admin.tokens.forms import SCIM
from storage.back_office import site_office
from storage.back_office.cells import NOTHING, badge, badges
from storage.back_office.domain_forms import FormPage
from storage.back_office.fields import uuids_of
from storage.models import IdentityProvider
from storage.single_sign_on.providers import (
    back_channel_address,
    callback_address,
    remove_provider,
    save_provider,
    scim_address,
)
from storage.tenancy.addresses import public_base


@admin.register(IdentityProvider, site=site_office)
class IdentityProviderAdmin(SiteModelAdmin):
    list_display = ("name", "scope", "issuer", "domains", "state")
    list_select_related = ("collection",)
    search_fields = ("name", "key", "issuer")
    search_help_text = gettext_lazy("Search by name and issuer")
    actions = None
    actions_detail = ("edit_rules", "issue_token", "remove")

    @admin.display(description=gettext_lazy("scope"))
    def scope(self, provider: IdentityProvider) -> str | SafeString:
        if provider.collection is not None:
            return _("Collection %s") % provider.collection
        return badge(_("Installation"), "info")

    @admin.display(description=gettext_lazy("mail domains"))
    def domains(self, provider: IdentityProvider) -> str:
        return ", ".join(provider.mail_domains[:5]) + ("…" if len(provider.mail_domains) > 5 else "") or NOTHING

    @admin.display(description=gettext_lazy("state"))
    def state(self, provider: IdentityProvider) -> SafeString:
        found = [badge(_("Enabled"), "success") if provider.is_enabled else badge(_("Disabled"), "danger")]
        if provider.refuses_passwords:
            found.append(badge(_("No passwords")))
        if provider.accepts_tokens:
            found.append(badge(_("Access tokens")))
        return badges(found)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.rules_view)
        return [path("<path:object_id>/rules/", view, name="storage_identityprovider_rules"), *super().get_urls()]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ProviderForm(request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            made = form.attempt(lambda: save_provider(IdentityProvider(), form.columns, form.secret or ""))
            if made:
                messages.success(request, _("%s has been added. Now add rules.") % made)
                return redirect("admin:storage_identityprovider_rules", made.pk)
        return FormPage(_("Add an identity provider"), _("Save"), form.fieldsets).render(self, request, form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        provider = self._found(request, object_id)
        is_fixed = provider.is_from_settings
        form = ProviderForm(request.POST if request.method == "POST" and not is_fixed else None, provider)
        is_right = form.is_bound and form.is_valid()
        saved = form.attempt(lambda: save_provider(provider, form.columns, form.secret)) if is_right else None
        if saved:
            messages.success(request, _("%s has been changed.") % provider)
            return redirect("admin:storage_identityprovider_changelist")
        buttons = self._get_actions_navigation(
            self.actions_detail, self.get_actions_detail(request, provider.pk), str(provider.pk)
        )
        page = FormPage(
            str(provider),
            "" if is_fixed else _("Save"),
            form.fieldsets,
            provider,
            template="site_office/identity_provider.html",
            context={
                "actions_detail": buttons,
                "is_fixed": is_fixed,
                "addresses": [
                    (_("Redirect address"), callback_address(request, provider)),
                    (_("Address after signing out"), f"{public_base(request)}/admin/login/"),
                    (_("Back-channel logout address"), back_channel_address(request, provider)),
                    *([(_("SCIM address"), scim_address(request, provider))] if provider.collection else []),
                ],
                "directory": _directory(provider),
            },
        )
        return page.render(self, request, form)

    @action(description=gettext_lazy("Rules"), url_path="edit-rules", icon="rule")
    def edit_rules(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect("admin:storage_identityprovider_rules", self._found(request, object_id).pk)

    @action(description=gettext_lazy("SCIM token"), url_path="issue-token", icon="key")
    def issue_token(self, request: HttpRequest, object_id: str) -> HttpResponse:
        provider = self._found(request, object_id)
        if provider.collection is None:
            messages.error(request, _("Only providers of a collection can provision people with SCIM."))
            return redirect("admin:storage_identityprovider_change", provider.pk)
        return redirect(f"{reverse('admin:storage_apitoken_add')}?place={SCIM}{provider.pk}")

    def rules_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        return rules_page(self, request, self._found(request, object_id))

    @action(description=gettext_lazy("Remove"), url_path="remove", icon="delete", variant=ActionVariant.DANGER)
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        from django.template.response import TemplateResponse

        provider = self._found(request, object_id)
        if provider.is_from_settings and provider.is_enabled:
            messages.error(request, _("The environment defines this provider; remove it there."))
            return redirect("admin:storage_identityprovider_change", provider.pk)
        if request.method == "POST":
            remove_provider(provider)
            messages.success(request, _("%s has been removed.") % provider)
            return redirect("admin:storage_identityprovider_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Remove %s?") % provider,
            "opts": self.opts,
            "original": provider,
            "back": reverse("admin:storage_identityprovider_change", args=[provider.pk]),
        }
        return TemplateResponse(request, "site_office/remove_provider.html", context)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def _found(self, request: HttpRequest, object_id: str) -> IdentityProvider:
        if not self.has_change_permission(request):
            raise PermissionDenied
        found = IdentityProvider.objects.filter(pk__in=uuids_of(object_id)).select_related("collection").first()
        if found is None:
            raise Http404
        return found


def _directory(provider: IdentityProvider) -> dict[str, int]:
    """Return how many people and groups the directory has sent; empty without any."""
    people, groups = provider.people, provider.groups.count()
    found = {
        "people": people.count(),
        "inactive": people.filter(is_active=False).count(),
        "without_account": people.filter(account=None, is_active=True).count(),
    }
    return {**found, "groups": groups} if found["people"] or groups else {}
