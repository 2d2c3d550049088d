"""Users and groups of a storage. Every role above viewer can see them; administrators can change them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import formats
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.views import ChangeList

from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.admin.listing.filters import ReferenceFilter
from elements.admin.people.forms import GroupForm, PersonForm, UserForm
from elements.models import User, UserGroup
from elements.models.people import GROUP_TYPE
from elements.people.administration import GROUPS, INVARIANT, groups_of, members_of, save_group, save_user
from elements.presentation.page_requests import content_writer_of
from elements.users import grant_of
from elements.values.checking import read_date_time
from facets.blueprint.private_content import INACTIVE, ROLE_ATTRIBUTES, USER_TYPE
from repository_site.core.problems import Warned
from storage.back_office import NavigationEntry, NavigationGroup, StorageModelAdmin, storage_office
from storage.back_office.cells import NOTHING, badge, role_badges
from storage.back_office.domain_forms import FormPage
from storage.back_office.model_admin import OFFICE_ROLES
from storage.back_office.role_texts import ROLE_NAMES
from storage.back_office.select_filter import SelectFilter
from storage.models import ApiToken, StorageMembership
from storage.options import Role
from storage.pages import caller_of, storage_of

SIGN_INS = (
    ("userLastLogin", gettext_lazy("Last sign-in")),
    ("userFirstLogin", gettext_lazy("First sign-in")),
    ("userLoginCount", gettext_lazy("Number of sign-ins")),
)
MEMBERS_SHOWN = 6
SORT_NAME = "newest__sort_name"


class UserList(ChangeList):
    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        users = list(self.result_list)
        ids = [user.pk for user in users]
        groups = groups_of(ids)
        labels = labels_of(request)
        named = labels.elements(str(group) for found in groups.values() for group in found)
        here = {"storage": storage_of(request), "user_id__in": ids}
        valid = ApiToken.objects.filter(**here, revoked_on=None).order_by()
        tokens = dict(valid.values_list("user_id").annotate(Count("id")))
        accounts = dict(StorageMembership.objects.filter(**here).values_list("user_id", "account__username"))
        for user in users:
            mine = [named[str(group)].name for group in groups.get(user.pk, ()) if str(group) in named]
            user.shown_name = labels.own(user.newest.attributes)
            user.is_inactive = administers(request) and grant_of(user.newest.attributes).is_inactive
            user.groups, user.tokens, user.account = mine, tokens.get(user.pk, 0), accounts.get(user.pk, "")
        self.result_list = users


class GroupList(ChangeList):
    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        groups = list(self.result_list)
        members = members_of([group.pk for group in groups])
        labels = labels_of(request)
        named = labels.elements(str(user) for user, _ in members)
        for group in groups:
            group.shown_name = labels.own(group.newest.attributes)
            group.members = [named[str(user)].name for user, of in members if of == group.pk and str(user) in named]
        self.result_list = groups


class RoleFilter(SelectFilter):
    title = gettext_lazy("role")
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(role.value, name) for role, name in ROLE_NAMES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        attribute = next((name for name, role in ROLE_ATTRIBUTES.items() if role == self.value()), None)
        return queryset.filter(**{f"newest__attributes__{attribute}__{INVARIANT}": True}) if attribute else queryset


class ActivityFilter(SelectFilter):
    title = gettext_lazy("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("active", _("Active")), ("inactive", _("Inactive"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        inactive = {f"newest__attributes__{INACTIVE}__{INVARIANT}": True}
        if self.value() == "inactive":
            return queryset.filter(**inactive)
        return queryset.exclude(**inactive) if self.value() == "active" else queryset


class GroupFilter(ReferenceFilter):
    title = gettext_lazy("group")
    parameter_name = "group"

    def target_types(self) -> Collection[str]:
        return (GROUP_TYPE,)

    def contexts(self) -> Collection[str]:
        return (GROUPS,)


class PeopleAdmin(StorageModelAdmin):
    """Base of the pages of users and groups: the fields of the form follow the type, and the domain saves."""

    type_key: str
    person_form: type[UserForm | GroupForm]
    page_texts: dict[str, Any]
    ordering = (SORT_NAME, "id")
    show_full_result_count = True
    show_add_link = False
    actions = None
    actions_list = ("new",)
    has_plain_cells = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Filter by the id of the type. With its key alone, PostgreSQL reads the elements of all types."""
        found: QuerySet[Any] = super().get_queryset(request)
        return found.filter(type_id=labels_of(request).configuration.type_ids.get(self.type_key))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Every word must occur in one of the fields. `sort_name` is case-folded."""
        for word in search_term.split():
            wanted = Q(**{f"{SORT_NAME}__contains": word.casefold()})
            for field in self.search_fields:
                wanted |= Q(**{f"{field}__icontains": word})
            queryset = queryset.filter(wanted)
        return queryset, False

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise Http404

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request) and self.type_key in labels_of(request).configuration.types

    @action(
        description=gettext_lazy("New"), url_path="new", icon="add", variant=ActionVariant.PRIMARY, permissions=["add"]
    )
    def new(self, request: HttpRequest) -> HttpResponse:
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        labels = labels_of(request)
        form = self.person_form(labels, labels.configuration.types[self.type_key], None, posted(request))
        if form.is_bound and form.is_valid() and (made := self.saved(request, form, None)):
            messages.success(request, self.page_texts["made"])
            return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", made)
        page = FormPage(self.page_texts["new"], self.page_texts["make"], form.fieldsets)
        return page.render(self, request, form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = self.get_object(request, object_id)
        if found is None:
            raise Http404
        labels = labels_of(request)
        found.shown_name = labels.own(found.newest.attributes)
        form = self.person_form(labels, labels.configuration.types[self.type_key], found, posted(request))
        may_change = self.has_change_permission(request, found)
        if form.is_bound and not may_change:
            raise PermissionDenied
        if form.is_bound and form.is_valid() and self.saved(request, form, found):
            messages.success(request, _("Saved."))
            return redirect(request.path)
        if not may_change:
            form.freeze()
        page = FormPage(
            found.shown_name,
            _("Save") if may_change else "",
            form.fieldsets,
            found,
            template="back_office/people/person.html",
            context={"element_address": element_address(str(found.pk)), **self.beside(request, labels, found)},
        )
        return page.render(self, request, form)

    def save(self, request: HttpRequest, form: Any, element: UUID | None) -> UUID:
        raise NotImplementedError

    def beside(self, request: HttpRequest, labels: OfficeLabels, found: Any) -> dict[str, Any]:
        return {}

    def saved(self, request: HttpRequest, form: PersonForm, found: Any) -> UUID | None:
        try:
            done = form.attempt(lambda: self.save(request, form, found.pk if found else None), but=Warned)
        except Warned as warning:
            form.ask_to_confirm()  # type: ignore[attr-defined]  # users alone warn
            form.add_error("confirmed", warning.message)
            return None
        if done is None and found is not None:
            found.newest.refresh_from_db()
            # Saving again overwrites the stored revision.
            data = request.POST.copy()
            data["revision"] = str(found.newest.revision)
            form.data = data
        return done


def administers(request: HttpRequest) -> bool:
    return Role.ADMINISTRATOR in caller_of(request).roles


def posted(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


@admin.register(User, site=storage_office)
class UserAdmin(PeopleAdmin):
    type_key = USER_TYPE
    person_form = UserForm
    page_texts = {
        "new": gettext_lazy("New user"),
        "make": gettext_lazy("Create user"),
        "made": gettext_lazy("The user was created."),
    }
    list_display = ("name", "person", "role_list", "group_list", "last_login", "tokens", "account")
    list_filter = (RoleFilter, ActivityFilter, GroupFilter)
    search_fields = (
        SORT_NAME,
        f"newest__attributes__firstName__{INVARIANT}",
        f"newest__attributes__lastName__{INVARIANT}",
    )
    search_help_text = gettext_lazy("Search by name")

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return UserList

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Only administrators see roles, sign-ins, tokens and accounts of users (D398)."""
        return self.list_display if administers(request) else ("name", "person", "group_list")

    def get_list_filter(self, request: HttpRequest) -> tuple[Any, ...]:
        return self.list_filter if administers(request) else (GroupFilter,)

    @admin.display(description=gettext_lazy("name"), ordering="newest__sort_name")
    def name(self, user: Any) -> SafeString:
        mark = badge(_("Inactive"), "danger") if user.is_inactive else ""
        return format_html("{} {}", user.shown_name, mark)

    @admin.display(description=gettext_lazy("person"))
    def person(self, user: Any) -> str:
        held = user.newest.attributes
        parts = [str(held.get(key, {}).get(INVARIANT) or "") for key in ("firstName", "lastName")]
        return " ".join(part for part in parts if part) or NOTHING

    @admin.display(description=gettext_lazy("roles"))
    def role_list(self, user: Any) -> SafeString:
        return role_badges(grant_of(user.newest.attributes).roles)

    @admin.display(description=gettext_lazy("groups"))
    def group_list(self, user: Any) -> str:
        return ", ".join(user.groups) or NOTHING

    @admin.display(description=gettext_lazy("tokens"))
    def tokens(self, user: Any) -> str:
        return str(user.tokens or NOTHING)

    @admin.display(description=gettext_lazy("last sign-in"))
    def last_login(self, user: Any) -> SafeString:
        value = local_moment(user.newest.attributes.get("userLastLogin", {}).get(INVARIANT))
        return format_html('<span class="whitespace-nowrap">{}</span>', value)

    @admin.display(description=gettext_lazy("staff account"))
    def account(self, user: Any) -> str:
        return user.account or NOTHING

    def save(self, request: HttpRequest, form: UserForm, element: UUID | None) -> UUID:
        is_confirmed = bool(form.cleaned_data.get("confirmed"))
        return save_user(content_writer_of(request), form.draft(element), is_confirmed=is_confirmed)

    def beside(self, request: HttpRequest, labels: OfficeLabels, found: Any) -> dict[str, Any]:
        held = found.newest.attributes
        known = {each.key for each in labels.configuration.types[self.type_key].properties}
        memberships = StorageMembership.objects.filter(storage=storage_of(request), user_id=found.pk)
        tokens = ApiToken.objects.filter(storage=storage_of(request), user_id=found.pk, revoked_on=None)
        return {
            "sign_ins": [
                (label, local_moment(held.get(key, {}).get(INVARIANT))) for key, label in SIGN_INS if key in known
            ],
            "shows_access": administers(request),
            "tokens": list(tokens.order_by("name", "id")),
            "memberships": list(memberships.select_related("account")),
        }


@admin.register(UserGroup, site=storage_office)
class UserGroupAdmin(PeopleAdmin):
    type_key = GROUP_TYPE
    person_form = GroupForm
    page_texts = {
        "new": gettext_lazy("New group"),
        "make": gettext_lazy("Create group"),
        "made": gettext_lazy("The group was created."),
    }
    list_display = ("name", "number", "member_list")
    search_fields = (SORT_NAME,)
    search_help_text = gettext_lazy("Search by name")

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return GroupList

    @admin.display(description=gettext_lazy("name"), ordering="newest__sort_name")
    def name(self, group: Any) -> str:
        return str(group.shown_name)

    @admin.display(description=gettext_lazy("number"))
    def number(self, group: Any) -> str:
        return str(len(group.members))

    @admin.display(description=gettext_lazy("members"))
    def member_list(self, group: Any) -> str:
        shown = ", ".join(group.members[:MEMBERS_SHOWN]) or NOTHING
        rest = len(group.members) - MEMBERS_SHOWN
        return _("%(shown)s and %(number)d more") % {"shown": shown, "number": rest} if rest > 0 else shown

    def save(self, request: HttpRequest, form: GroupForm, element: UUID | None) -> UUID:
        return save_group(content_writer_of(request), form.draft(element))


def local_moment(value: Any) -> str:
    """Format a date-time attribute, which is in the local time of the storage."""
    local = read_date_time(value) if isinstance(value, str) else None
    if isinstance(local, datetime):
        return formats.date_format(local, "SHORT_DATETIME_FORMAT")
    return NOTHING if value is None else str(value)


storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.ACCESS, gettext_lazy("Users"), "person", "elements_user_changelist", roles=OFFICE_ROLES
    ),
    NavigationEntry(
        NavigationGroup.ACCESS, gettext_lazy("Groups"), "groups", "elements_usergroup_changelist", roles=OFFICE_ROLES
    ),
)
