"""Staff accounts and their memberships, in the site's back office."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import ReadOnlyPasswordHashWidget
from django.contrib.auth.hashers import is_password_usable
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.admin import StackedInline
from unfold.decorators import action
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminUUIDInputWidget

from storage.access.callers import find_user
from storage.access.memberships import admission_code
from storage.accounts.ending import end_all_sessions
from storage.accounts.sessions import sessions_of
from storage.admin.memberships import explain_origins
from storage.admin.site_base import SiteModelAdmin
from storage.admin.webhooks.pages import confirmation_page
from storage.back_office import site_office
from storage.back_office.cells import NOTHING, account_badges, ago, badge, badges
from storage.back_office.fields import RoleField, uuids_of
from storage.back_office.role_texts import role_names
from storage.back_office.select_filter import SelectFilter, YesNoFilter
from storage.messages.recipients import adopt_messages
from storage.messages.writing import tell_of_membership
from storage.models import StaffAccount, Storage, StorageMembership
from storage.single_sign_on.provider_sessions import follow_session

POWERS = ("is_active", "is_superuser")


class AccountMembershipForm(forms.ModelForm):
    roles = RoleField(with_sentences=False)
    user_id = forms.UUIDField(
        label=gettext_lazy("User of the storage"),
        required=False,
        widget=UnfoldAdminUUIDInputWidget(),
        help_text=gettext_lazy(
            "Id of the user element of this account in the storage. Changes show the name of this user, whose roles"
            " limit those of the account. The back office of the storage finds users by name."
        ),
    )

    class Meta:
        model = StorageMembership
        fields = ("storage", "roles", "user_id")
        labels = {"storage": gettext_lazy("Storage")}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk:
            self.initial["roles"] = self.instance.roles_by_hand
            explain_origins(self.fields["roles"], self.instance)
            # Without this, nobody could save the account of a person whose last role a directory has taken (D545).
            self.fields["roles"].required &= bool(self.instance.roles)

    def save(self, commit: bool = True) -> Any:
        """Change what was granted by hand; roles from rules stay (D504)."""
        self.instance.set_roles(StorageMembership.BY_HAND, self.cleaned_data["roles"])
        return super().save(commit)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        storage, user = given.get("storage"), given.get("user_id")
        if storage is not None and user is not None and find_user(storage, user) is None:
            self.add_error("user_id", _("This user does not exist in %s.") % storage)
        return given


class MembershipInline(StackedInline):
    model = StorageMembership
    form = AccountMembershipForm
    extra = 0
    verbose_name = gettext_lazy("storage")
    verbose_name_plural = gettext_lazy("Storages of this account")

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_superuser)

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission

    def get_queryset(self, request: HttpRequest) -> QuerySet[StorageMembership]:
        found: QuerySet[StorageMembership] = super().get_queryset(request)
        return found.select_related("account", "storage__collection")

    def get_formset(self, request: HttpRequest, obj: Any = None, **options: Any) -> Any:
        formset = super().get_formset(request, obj, **options)
        field = formset.form.base_fields["storage"]
        field.queryset = Storage.objects.select_related("collection")
        # Read once for all memberships, although the theme makes several formsets. `list` would count them first.
        known: Any = request
        if not hasattr(known, "storage_choices"):
            known.storage_choices = [each for each in field.choices]  # noqa: C416
        field.choices = known.storage_choices
        widget = field.widget
        widget.can_add_related = widget.can_change_related = widget.can_view_related = False
        return formset


class PasswordState(ReadOnlyPasswordHashWidget):
    """Text that tells whether there is a password. Django shows parts of its digest."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        is_set = bool(value) and is_password_usable(value)
        text = _("A password is set.") if is_set else _("No password is set.")
        context: dict[str, Any] = super().get_context(name, value, attrs)
        return {**context, "summary": [{"label": text}]}


class NewAccountForm(UserCreationForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["usable_password"]
        field.label = _("Sign-in with a password")
        field.help_text = _("Without a password, nobody can sign in with this account until one is set.")


class AccountForm(UserChangeForm):
    """Form that does not let site administrators lock themselves out, so one always remains."""

    acting: StaffAccount

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["password"].widget = PasswordState()
        self.fields["password"].help_text = format_html(
            '{} <a href="../password/" class="text-link underline">{}</a>',
            _("Only a digest of the password is stored."),
            _("Set a new password"),
        )
        self.fields["is_active"].label = _("Can sign in")
        self.fields["is_active"].help_text = _(
            "Deactivate accounts instead of deleting them: the change history shows their names."
        )
        self.fields["is_superuser"].label = _("Site administrator")
        self.fields["is_superuser"].help_text = _("Administers the installation and every storage.")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if self.acting.pk not in lock_administrators():
            raise ValidationError(_("You are no longer a site administrator."))
        if self.instance == self.acting:
            for name in POWERS:
                if name in given and not given[name]:
                    self.add_error(
                        name, _("You cannot change this for your own account. Ask another site administrator.")
                    )
        return given


def lock_administrators() -> set[int]:
    """Lock and return the ids of all site administrators until the end of the transaction. If two take the role from
    each other, the second is no longer an administrator and is refused."""
    found = StaffAccount.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    return set(found.values_list("pk", flat=True))


class StorageFilter(SelectFilter):
    title = gettext_lazy("storage")
    parameter_name = "storage"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(each.pk), str(each)) for each in Storage.objects.select_related("collection")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StaffAccount]) -> QuerySet[StaffAccount]:
        return queryset.filter(memberships__storage__in=uuids_of(self.value())) if self.value() else queryset


@admin.register(StaffAccount, site=site_office)
class StaffAccountAdmin(UserAdmin, SiteModelAdmin):
    form = AccountForm
    add_form = NewAccountForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "full_name", "kind", "storages_shown", "last_seen")
    list_filter = (StorageFilter, ("is_superuser", YesNoFilter), ("is_active", YesNoFilter))
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = gettext_lazy("Search by name and address")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (gettext_lazy("Person"), {"fields": ("first_name", "last_name", "email", "language")}),
        (gettext_lazy("Access"), {"fields": ("is_active", "is_superuser", "code_of_admission")}),
        (gettext_lazy("Dates"), {"fields": ("last_login", "date_joined", "sessions_shown")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2")}),
        (gettext_lazy("Person"), {"fields": ("first_name", "last_name", "email", "language")}),
    )
    readonly_fields = ("code_of_admission", "last_login", "date_joined", "sessions_shown")
    actions_detail = ("end_sessions",)
    inlines = (MembershipInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[StaffAccount]:
        found: QuerySet[StaffAccount] = super().get_queryset(request)
        inside = StorageMembership.objects.select_related("storage__collection").order_by("storage__key")
        return found.prefetch_related(Prefetch("memberships", queryset=inside))

    @admin.display(description=gettext_lazy("Admission code"))
    def code_of_admission(self, account: StaffAccount) -> str:
        return admission_code(account)

    @admin.display(description=gettext_lazy("Sessions"))
    def sessions_shown(self, account: StaffAccount) -> SafeString:
        # The theme asks for a value several times.
        known: Any = account
        if not hasattr(known, "known_sessions"):
            known.known_sessions = sessions_of(account)
        shown = known.known_sessions
        rows = [(each.device or _("unknown browser"), each.network, ago(each.last_on)) for each in shown]
        return format_html_join(SafeString("<br>"), "{}, {}, {}", rows) or SafeString(NOTHING)

    @action(description=gettext_lazy("End all sessions"), url_path="end-sessions", icon="logout")
    def end_sessions(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        if not self.has_change_permission(request):
            raise PermissionDenied
        account = self.get_object(request, object_id)
        if account is None:
            raise Http404
        if request.method != "POST":
            text = _("The person must sign in again everywhere. To keep somebody out, deactivate the account.")
            return confirmation_page(self, request, account, _("End all sessions?"), text, _("End all sessions"))
        number = end_all_sessions(account)
        messages.success(request, ngettext("%d session has ended.", "%d sessions have ended.", number) % number)
        return redirect("admin:storage_staffaccount_change", account.pk)

    def get_inlines(self, request: HttpRequest, obj: Model | None) -> tuple[Any, ...]:
        """Hide memberships while an account is added; the next page asks for them."""
        return self.inlines if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request) and obj != request.user

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer no bulk deletion: it could include the own account."""
        return {name: each for name, each in super().get_actions(request).items() if name != "delete_selected"}

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> type[forms.ModelForm]:
        form: type[forms.ModelForm] = super().get_form(request, obj, change=change, **options)
        return type("OwnAccountForm", (form,), {"acting": request.user}) if change else form

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        if request.user.pk not in lock_administrators():
            raise PermissionDenied
        super().delete_model(request, obj)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Refuse to make the own password unusable."""
        if str(request.user.pk) == str(id) and request.POST.get("usable_password") == "false":
            messages.error(request, _("You cannot change this for your own account. Ask another site administrator."))
            return redirect(request.path)
        before = request.session.session_key
        response: HttpResponse = super().user_change_password(request, id, form_url)
        # Django gives the session of the administrator another key, whatever account gets the password.
        follow_session(before, request.session.session_key)
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        # Every account can sign in to the back offices; there is no other use of accounts.
        obj.is_staff = True
        if "is_active" in form.changed_data:
            # From now on, no directory changes this (D543).
            obj.deactivated_by = None
        super().save_model(request, obj, form, change)
        if "is_active" in form.changed_data and not obj.is_active:
            # Otherwise they would go on as soon as somebody lets the person in again.
            end_all_sessions(obj)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        for membership in formset.new_objects:
            tell_of_membership(membership)
        for membership, _changes in formset.changed_objects:
            adopt_messages(membership)

    @admin.display(description=gettext_lazy("name"), ordering="last_name")
    def full_name(self, account: StaffAccount) -> str:
        return account.get_full_name()

    @admin.display(description=gettext_lazy("status"))
    def kind(self, account: StaffAccount) -> SafeString:
        return badges(account_badges(account))

    @admin.display(description=gettext_lazy("storages"))
    def storages_shown(self, account: StaffAccount) -> SafeString:
        if account.is_superuser:
            return format_html("{}", _("all"))
        return badges(
            badge(str(each.storage), title=", ".join(role_names(each.roles))) for each in account.memberships.all()
        )

    @admin.display(description=gettext_lazy("last sign-in"), ordering="last_login")
    def last_seen(self, account: StaffAccount) -> SafeString:
        return ago(account.last_login, _("never"))
