"""Staff of one storage in its back office: accounts, their roles and their user elements (D120)."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from repository_site.core.problems import Warned
from storage.access.memberships import MembershipTerms, admit, change_membership, dismiss
from storage.admin.tokens.storage_tokens import ADMINISTRATORS, NamingList
from storage.back_office import NavigationEntry, NavigationGroup, StorageModelAdmin, storage_office
from storage.back_office.cells import NOTHING, account_badges, ago, badges, role_badges
from storage.back_office.domain_forms import DomainForm, FormPage
from storage.back_office.fields import RoleField, UserField
from storage.back_office.role_texts import role_names
from storage.models import StaffAccount, Storage, StorageMembership
from storage.pages import storage_of


class MembershipForm(DomainForm):
    """Roles and user of a membership. `confirmed` appears when there is something to confirm."""

    places = {"account": "username", "roles": "roles", "user": "user_id"}

    roles = RoleField()

    def __init__(self, storage: Storage, data: Any = None, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        self.fields["user_id"] = UserField(
            storage,
            label=gettext_lazy("User element"),
            help_text=gettext_lazy(
                "Changes show the name of this user, and the account has only the roles that the user has as well."
                " Leave empty if changes should name nobody."
            ),
        )
        if data is not None and "confirmed" in data:
            self.ask_to_confirm()

    def ask_to_confirm(self) -> None:
        self.fields["confirmed"] = forms.BooleanField(
            label=gettext_lazy("Change it anyway"), required=False, widget=UnfoldBooleanWidget()
        )

    @property
    def fieldsets(self) -> Any:
        order = ("username", "code", "roles", "user_id", "confirmed")
        return ((None, {"fields": tuple(name for name in order if name in self.fields)}),)

    @property
    def terms(self) -> MembershipTerms:
        return MembershipTerms(self.cleaned_data["roles"], self.cleaned_data["user_id"])


class AdmissionForm(MembershipForm):
    username = forms.CharField(
        label=gettext_lazy("Staff account"),
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off", "autofocus": True}),
        help_text=gettext_lazy("The exact user name of an existing account. Invite people who have none."),
    )
    code = forms.CharField(
        label=gettext_lazy("Admission code"),
        required=False,
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "The owner of the account sees the code on the start page of the installation. Site administrators can"
            " leave it empty."
        ),
    )


@admin.register(StorageMembership, site=storage_office)
class StorageMembershipAdmin(StorageModelAdmin):
    viewers = ADMINISTRATORS
    changers = ADMINISTRATORS
    list_display = ("account_name", "role_list", "user")
    # An account belongs to the site. Its person, site role and last sign-in are not for administrators of a storage.
    site_list_display = ("account_name", "person", "role_list", "user", "last_seen")
    search_fields = ("account__username",)
    search_help_text = gettext_lazy("Search by name")
    list_select_related = ("account",)
    ordering = ("account__username",)
    actions = None
    actions_list = ("admit", "invite")
    actions_detail = ("dismiss",)
    show_add_link = False
    show_full_result_count = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[StorageMembership]:
        """Return the memberships of this storage; no tenant scope protects their table."""
        found = StorageMembership.objects.filter(storage=storage_of(request)).select_related("account", "storage")
        return found.order_by(*self.ordering)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return self.site_list_display if acting(request).is_superuser else self.list_display

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return NamingList

    # Columns

    @admin.display(description=gettext_lazy("account"), ordering="account__username")
    def account_name(self, membership: StorageMembership) -> str:
        return membership.account.get_username()

    @admin.display(description=gettext_lazy("person"))
    def person(self, membership: StorageMembership) -> SafeString:
        account = membership.account
        found = account_badges(account)
        return format_html("{} {}", account.get_full_name(), badges(found) if found else "")

    @admin.display(description=gettext_lazy("roles"))
    def role_list(self, membership: StorageMembership) -> SafeString:
        return role_badges(membership.roles)

    @admin.display(description=gettext_lazy("user element"))
    def user(self, membership: Any) -> str:
        return membership.user_name or NOTHING

    @admin.display(description=gettext_lazy("last sign-in"), ordering="account__last_login")
    def last_seen(self, membership: StorageMembership) -> SafeString:
        return ago(membership.account.last_login, _("never"))

    # Changes

    @action(
        description=gettext_lazy("Add an account"),
        url_path="admit",
        icon="add",
        variant=ActionVariant.PRIMARY,
        permissions=["add"],
    )
    def admit(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:storage_storagemembership_add")

    @action(description=gettext_lazy("Invite"), url_path="invite", icon="person_add", permissions=["add"])
    def invite(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:storage_invitation_add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = AdmissionForm(storage_of(request), request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            name, code = form.cleaned_data["username"], form.cleaned_data["code"]
            if made := form.attempt(lambda: admit(storage_of(request), name, code, form.terms, acting(request))):
                messages.success(request, _("%s is now a member.") % made.account)
                return redirect("admin:storage_storagemembership_changelist")
        page = FormPage(_("Add an account"), _("Add member"), form.fieldsets)
        return page.render(self, request, form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        membership = self._found(request, object_id)
        initial = {"roles": membership.roles_by_hand, "user_id": membership.user_id}
        form = MembershipForm(storage_of(request), request.POST if request.method == "POST" else None, initial)
        explain_origins(form.fields["roles"], membership)
        if form.is_bound and form.is_valid() and self._changed(request, membership, form):
            messages.success(request, _("The membership of %s has been changed.") % membership.account)
            # Administrators who gave up their own role cannot open this list any more.
            has_left = bool(form.cleaned_data.get("confirmed"))
            return redirect("admin:index" if has_left else "admin:storage_storagemembership_changelist")
        buttons = self._get_actions_navigation(
            self.actions_detail, self.get_actions_detail(request, membership.pk), str(membership.pk)
        )
        is_mine = acting(request).is_superuser or not membership.account.is_superuser
        if not is_mine:
            messages.info(request, _("Only site administrators can change this membership."))
        context = {"actions_detail": buttons if is_mine else []}
        page = FormPage(
            str(membership.account), _("Save") if is_mine else "", form.fieldsets, membership, context=context
        )
        return page.render(self, request, form)

    def _changed(self, request: HttpRequest, membership: StorageMembership, form: MembershipForm) -> bool:
        is_confirmed = bool(form.cleaned_data.get("confirmed"))

        def change() -> bool:
            change_membership(membership, form.terms, acting(request), is_confirmed=is_confirmed)
            return True

        try:
            return bool(form.attempt(change, but=Warned))
        except Warned as warning:
            form.ask_to_confirm()
            form.add_error("confirmed", warning.message)
            return False

    @action(description=gettext_lazy("Remove"), url_path="dismiss", icon="person_remove", variant=ActionVariant.DANGER)
    def dismiss(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        membership = self._found(request, object_id)
        if request.method == "POST":
            dismiss(membership, acting(request))
            messages.success(request, _("%s is no longer a member.") % membership.account)
            is_own = membership.account == acting(request) and not acting(request).is_superuser
            return redirect("admin:index" if is_own else "admin:storage_storagemembership_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Remove %s from this storage?") % membership.account,
            "opts": self.opts,
            "original": membership,
            "is_own": membership.account == acting(request),
        }
        return TemplateResponse(request, "back_office/people/dismiss.html", context)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def _found(self, request: HttpRequest, object_id: str) -> StorageMembership:
        if not self.has_change_permission(request):
            raise PermissionDenied
        found = self.get_queryset(request).filter(pk=object_id).first() if str(object_id).isdecimal() else None
        if found is None:
            raise Http404
        return found


def explain_origins(field: forms.Field, membership: StorageMembership | None) -> None:
    """Say which roles rules have granted (D504). Then no role has to be granted by hand."""
    if membership is not None and (granted := membership.roles_by_rules):
        names = ", ".join(map(str, role_names(granted)))
        field.required = False
        text = _("Rules of an identity provider grant: %s. Choose only roles that you grant by hand.")
        field.help_text = text % names


def acting(request: HttpRequest) -> StaffAccount:
    return cast("StaffAccount", request.user)


storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.ACCESS,
        gettext_lazy("Staff"),
        "badge",
        "storage_storagemembership_changelist",
        roles=ADMINISTRATORS,
    )
)
