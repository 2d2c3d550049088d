"""Invitations in the back office of a storage, and of all storages in that of the site (D550)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminEmailInputWidget

from storage.accounts.invitations import foreign_provider_of, invite, link_path, withdraw
from storage.admin.memberships import acting
from storage.admin.site_base import SiteModelAdmin
from storage.admin.tokens.storage_tokens import ADMINISTRATORS
from storage.admin.webhooks.pages import confirmation_page
from storage.back_office import NavigationEntry, NavigationGroup, StorageModelAdmin, site_office, storage_office
from storage.back_office.cells import NOTHING, badge, moment, role_badges
from storage.back_office.domain_forms import DomainForm, FormPage
from storage.back_office.fields import RoleField, uuids_of
from storage.models import Invitation, Storage, StorageCollection
from storage.pages import storage_of
from storage.tenancy.addresses import public_base

LIST = "admin:storage_invitation_changelist"


class RolesForm(DomainForm):
    """Roles of an invitation that is sent again."""

    places = {"address": "address", "roles": "roles"}

    roles = RoleField()

    @property
    def fieldsets(self) -> Any:
        order = ("address", "storage", "collection", "roles")
        return ((None, {"fields": tuple(name for name in order if name in self.fields)}),)


class InvitationForm(RolesForm):
    address = forms.CharField(
        label=gettext_lazy("Mail address"),
        max_length=254,
        widget=UnfoldAdminEmailInputWidget({"autocomplete": "off", "autofocus": True}),
        help_text=gettext_lazy("The invitation does not tell whether this address has an account."),
    )


class PlaceSelect(AutocompleteSelect):
    """Select whose options the browser loads. Texts that are not ids are not shown again."""

    def optgroups(self, name: Any, value: Any, attr: Any = None) -> Any:
        return super().optgroups(name, [each for each in value if uuids_of(each)], attr)


class SiteInvitationForm(InvitationForm):
    """Form with the storage, or the collection whose storages are all meant. An installation can have thousands, so the
    browser loads those whose ids match what is typed."""

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        labels = {"storage": _("Storage"), "collection": _("All storages of a collection")}
        known: dict[str, QuerySet[Any]] = {
            "storage": Storage.objects.select_related("collection"),
            "collection": StorageCollection.objects.all(),
        }
        for name, label in labels.items():
            widget = PlaceSelect(Invitation._meta.get_field(name), site_office)
            self.fields[name] = forms.ModelChoiceField(known[name], label=label, widget=widget, required=False)

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if not {"storage", "collection"} & self.errors.keys() and bool(given["storage"]) == bool(given["collection"]):
            self.add_error("storage", _("Choose a storage or a collection, not both."))
        return given

    @property
    def chosen(self) -> Storage | StorageCollection:
        found: Storage | StorageCollection = self.cleaned_data["storage"] or self.cleaned_data["collection"]
        return found


class InvitationPages(ModelAdmin):
    """List, form and link of invitations."""

    list_display: Any = ("address", "role_list", "state", "inviter", "end")
    list_select_related = ("storage__collection", "collection", "invited_by")
    search_fields = ("address",)
    search_help_text = gettext_lazy("Search by address")
    ordering = ("-made_on", "address")
    actions = None
    actions_list = ("invite",)
    actions_detail = ("withdraw",)
    show_add_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invitation]:
        return self.known(request).filter(withdrawn_on=None).select_related(*self.list_select_related)

    def known(self, request: HttpRequest) -> QuerySet[Invitation]:
        raise NotImplementedError

    def new_form(self, data: Any) -> InvitationForm:
        return InvitationForm(data)

    def place_of(self, request: HttpRequest, form: Any) -> Storage | StorageCollection:
        raise NotImplementedError

    # Columns

    @admin.display(description=gettext_lazy("storage"))
    def where(self, invitation: Invitation) -> str:
        if invitation.storage is not None:
            return str(invitation.storage)
        return _("all storages of %s") % invitation.collection

    @admin.display(description=gettext_lazy("roles"))
    def role_list(self, invitation: Invitation) -> SafeString:
        return role_badges(invitation.roles)

    @admin.display(description=gettext_lazy("state"))
    def state(self, invitation: Invitation) -> SafeString:
        is_open = invitation.valid_until > timezone.now()
        return badge(_("Open"), "info") if is_open else badge(_("Expired"), "warning")

    @admin.display(description=gettext_lazy("invited by"))
    def inviter(self, invitation: Invitation) -> str:
        return invitation.invited_by.get_username() if invitation.invited_by else NOTHING

    @admin.display(description=gettext_lazy("valid until"), ordering="valid_until")
    def end(self, invitation: Invitation) -> str:
        return moment(invitation.valid_until)

    # Changes

    @action(
        description=gettext_lazy("Invite"),
        url_path="invite",
        icon="person_add",
        variant=ActionVariant.PRIMARY,
        permissions=["add"],
    )
    def invite(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:storage_invitation_add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = self.new_form(request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            given = form.cleaned_data
            made = form.attempt(
                lambda: invite(self.place_of(request, form), given["address"], given["roles"], acting(request))
            )
            if made:
                return self._sent(request, made)
        if settings.MAIL_SERVER is None and not form.is_bound:
            messages.info(request, _no_mail())
        button = _("Send the invitation") if settings.MAIL_SERVER else _("Create the link")
        return FormPage(_("Invite a person"), button, form.fieldsets).render(self, request, form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        found = self._found(request, object_id)
        form = RolesForm(request.POST if request.method == "POST" else None, initial={"roles": found.roles})
        if form.is_bound and form.is_valid():
            given = form.cleaned_data["roles"]
            sent = form.attempt(lambda: invite(found.place, found.address, given, acting(request), again=True))
            if sent:
                return self._sent(request, sent)
        buttons = self._get_actions_navigation(
            self.actions_detail, self.get_actions_detail(request, found.pk), str(found.pk)
        )
        button = _("Send again") if settings.MAIL_SERVER else _("Create a new link")
        page = FormPage(found.address, button, form.fieldsets, found, context={"actions_detail": buttons})
        return page.render(self, request, form)

    @action(description=gettext_lazy("Withdraw"), url_path="withdraw", icon="cancel", variant=ActionVariant.DANGER)
    def withdraw(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        found = self._found(request, object_id)
        if request.method != "POST":
            title, text = _("Withdraw the invitation?"), _("The link in the invitation is no longer valid then.")
            return confirmation_page(self, request, found, title, text, _("Withdraw"), "danger")
        withdraw(found, acting(request))
        messages.success(request, _("The invitation for %s has been withdrawn.") % found)
        return redirect(LIST)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def _sent(self, request: HttpRequest, invitation: Invitation) -> HttpResponseBase:
        if foreign_provider_of(invitation) is not None:
            messages.warning(request, _elsewhere(invitation))
        if settings.MAIL_SERVER is not None:
            messages.success(request, _("A mail with a link is on its way to %s.") % invitation)
            return redirect(LIST)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Link of the invitation"),
            "note": _no_mail(),
            "opts": self.opts,
            "heading": invitation.address,
            "label": _("Link of the invitation"),
            "secret": f"{public_base(request)}{link_path(invitation, is_mailed=False)}",
            "end": moment(invitation.valid_until),
            "done_address": reverse(LIST),
        }
        response = TemplateResponse(request, "back_office/people/invitation_link.html", context)
        response["Cache-Control"] = "no-store"
        return response

    def _found(self, request: HttpRequest, object_id: str) -> Invitation:
        if not self.has_change_permission(request):
            raise PermissionDenied
        found = self.get_queryset(request).filter(pk__in=uuids_of(object_id)).first()
        if found is None:
            raise Http404
        return found


def _no_mail() -> str:
    return _("This installation sends no mails. Give the link to the person yourself.")


def _elsewhere(invitation: Invitation) -> str:
    text = _(
        "People of %(domain)s sign in with the provider of another collection, without passwords. Only a person who is"
        " signed in there can accept the invitation. Ask a site administrator to make it a provider of the"
        " installation, or to allow passwords for this domain."
    )
    return text % {"domain": invitation.address.rpartition("@")[2]}


@admin.register(Invitation, site=storage_office)
class StorageInvitationAdmin(InvitationPages, StorageModelAdmin):
    viewers = ADMINISTRATORS
    changers = ADMINISTRATORS

    def known(self, request: HttpRequest) -> QuerySet[Invitation]:
        """Return the invitations to this storage; no tenant scope protects their table."""
        return Invitation.objects.filter(storage=storage_of(request)).order_by(*self.ordering)

    def place_of(self, request: HttpRequest, form: Any) -> Storage | StorageCollection:
        return storage_of(request)


@admin.register(Invitation, site=site_office)
class SiteInvitationAdmin(InvitationPages, SiteModelAdmin):
    list_display = ("address", "where", "role_list", "state", "inviter", "end")

    def known(self, request: HttpRequest) -> QuerySet[Invitation]:
        return Invitation.objects.order_by(*self.ordering)

    def new_form(self, data: Any) -> InvitationForm:
        return SiteInvitationForm(data)

    def place_of(self, request: HttpRequest, form: Any) -> Storage | StorageCollection:
        assert isinstance(form, SiteInvitationForm)  # noqa: S101  made by `new_form`
        return form.chosen


storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.ACCESS,
        gettext_lazy("Invitations"),
        "forward_to_inbox",
        "storage_invitation_changelist",
        roles=ADMINISTRATORS,
    )
)
