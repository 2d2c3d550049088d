"""Token lists of both back offices: columns, issuing, rotating and revoking.

Only the response to the request that issues a token contains its value: no session, message or cache stores it, and a
reload issues nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet, prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import action
from unfold.enums import ActionVariant

from storage.access.tokens import IssuedToken, context_of_token, revoke_token
from storage.admin.tokens.forms import SCIM, IssueForm
from storage.admin.tokens.limits import LimitPages
from storage.back_office.cells import NOTHING, ago, badge, badges, moment, number, role_badges
from storage.back_office.domain_forms import FormPage
from storage.back_office.fields import uuids_of
from storage.back_office.role_texts import ROLE_NAMES
from storage.back_office.select_filter import SelectFilter
from storage.models import AgentCalls, ApiToken, TokenState
from storage.models.tokens import TokenQuerySet
from storage.options import Role
from storage.single_sign_on.providers import scim_address
from storage.tenancy.addresses import public_base

# Days of agents' calls on the page of a token.
SHOWN_DAYS = 30
STATES = {
    TokenState.ACTIVE: (_("Active"), "success"),
    TokenState.NOT_YET_VALID: (_("Not yet valid"), "info"),
    TokenState.EXPIRED: (_("Expired"), "warning"),
    TokenState.REVOKED: (_("Revoked"), "danger"),
}


def address_list(token: ApiToken, *, is_refused: bool) -> SafeString:
    """Return the networks that a token was used from, the last one first (D487)."""
    # The theme asks for a value several times.
    prefetch_related_objects([token], "addresses")
    found = [each for each in token.addresses.all() if each.is_refused is is_refused]
    rows = [
        (each.network, ago(each.last_on), ngettext("%d request", "%d requests", each.requests) % each.requests)
        for each in found
    ]
    return format_html_join(SafeString("<br>"), "{}, {}, {}", rows) or SafeString(NOTHING)


def agent_call_list(token: ApiToken) -> SafeString:
    """Return the calls of agents by day, the last day first (D596)."""
    start = timezone.now().date() - timedelta(days=SHOWN_DAYS)
    days: dict[date, list[AgentCalls]] = {}
    for each in token.agent_calls.filter(day__gt=start):
        days.setdefault(each.day, []).append(each)
    rows = [
        (
            date_format(day, "SHORT_DATE_FORMAT"),
            ", ".join(_calls_text(each) for each in found),
            ago(max(each.last_on for each in found)),
        )
        for day, found in days.items()
    ]
    return format_html_join(SafeString("<br>"), "{}: {}, {}", rows) or SafeString(NOTHING)


def _calls_text(calls: AgentCalls) -> str:
    text = f"{calls.tool} {number(calls.calls)}"
    if not calls.refused:
        return text
    return f"{text} ({_('%s refused') % number(calls.refused)})"


class TokenStateFilter(SelectFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(state.value, name) for state, (name, _) in STATES.items()]

    def queryset(self, request: HttpRequest, queryset: TokenQuerySet) -> TokenQuerySet:
        known = {state.value: state for state in TokenState}
        state = known.get(self.value() or "")
        return queryset.in_state(state, timezone.now()) if state else queryset


class TokenRoleFilter(SelectFilter):
    title = _("role")
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(role.value, name) for role, name in ROLE_NAMES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
        return queryset.filter(roles__contains=[self.value()]) if self.value() in set(Role) else queryset


class TokenPages(LimitPages):
    """Pages about tokens, for use with a base class that checks permissions."""

    search_fields: ClassVar[tuple[str, ...]] = ("name",)
    search_help_text = _("Search by name")
    ordering = ("-created_on", "id")
    readonly_fields: ClassVar[tuple[str, ...]] = (
        *("name", "state_badge", "role_list", "id", "starts", "ends", "issued", "last_used", "revoked"),
        *("rotated", "old_state", "old_used", "limits", "used_from", "refused_from", "agent_calls"),
    )
    list_filter: ClassVar[tuple[Any, ...]] = (TokenStateFilter, TokenRoleFilter)
    actions = ("revoke_selected",)
    actions_list = ("issue",)
    actions_detail = ("rotate", "end_old", "change_limits", "replace", "revoke")
    show_add_link = False
    show_full_result_count = True

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Tokens have no form of Django: they are rotated, limited and revoked."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_view_permission(request)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise Http404

    # Columns

    @admin.display(description=_("state"))
    def state_badge(self, token: ApiToken) -> SafeString:
        now = timezone.now()
        name, kind = STATES[token.state(now)]
        is_rotating = token.state(now) is TokenState.ACTIVE and token.has_valid_old_value(now)
        return badges([badge(str(name), kind), *([badge(str(_("Rotating")), "info")] if is_rotating else [])])

    @admin.display(description=_("roles"))
    def role_list(self, token: ApiToken) -> SafeString:
        return role_badges(token.roles)

    @admin.display(description=_("valid from"), ordering="valid_from")
    def starts(self, token: ApiToken) -> str:
        return moment(token.valid_from)

    @admin.display(description=_("revoked on"))
    def revoked(self, token: ApiToken) -> str:
        return moment(token.revoked_on)

    @admin.display(description=_("valid until"), ordering="valid_until")
    def ends(self, token: ApiToken) -> str:
        return moment(token.valid_until)

    @admin.display(description=_("last used"), ordering="last_used_on")
    def last_used(self, token: ApiToken) -> SafeString:
        return ago(token.last_used_on, str(_("never")))

    @admin.display(description=_("limits"))
    def limits(self, token: ApiToken) -> SafeString:
        named = (
            (_("Networks: %s"), token.networks),
            (_("Facets: %s"), token.facets),
            (_("Operations: %s"), token.operations),
        )
        lines = [str(_("Read only"))] if token.is_read_only else []
        lines += [str(text) % ", ".join(names) for text, names in named if names]
        return format_html_join(SafeString("<br>"), "{}", [(line,) for line in lines]) or SafeString(NOTHING)

    @admin.display(description=_("used from"))
    def used_from(self, token: ApiToken) -> SafeString:
        return address_list(token, is_refused=False)

    @admin.display(description=_("refused addresses"))
    def refused_from(self, token: ApiToken) -> SafeString:
        return address_list(token, is_refused=True)

    @admin.display(description=_("calls of agents"))
    def agent_calls(self, token: ApiToken) -> SafeString:
        return agent_call_list(token)

    @admin.display(description=_("issued"), ordering="created_on")
    def issued(self, token: ApiToken) -> SafeString:
        return ago(token.created_on)

    # Issuing

    def issue_form(self, request: HttpRequest, data: Any = None, initial: dict[str, Any] | None = None) -> IssueForm:
        raise NotImplementedError

    @action(
        description=_("Issue a token"), url_path="issue", icon="add", variant=ActionVariant.PRIMARY, permissions=["add"]
    )
    def issue(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:storage_apitoken_add")

    @action(description=_("Issue a replacement"), url_path="replace", icon="autorenew")
    def replace(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect(f"{reverse('admin:storage_apitoken_add')}?like={self._found(request, object_id).pk}")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return self._form_page(request, self.issue_form(request, initial=self._initial(request)))
        form = self.issue_form(request, request.POST)
        if not form.is_valid():
            return self._form_page(request, form)
        if before := self.get_queryset(request).filter(pk=form.cleaned_data["ticket"]).first():
            messages.info(request, _("“%s” has already been issued. Its value is shown only once.") % before)
            return redirect("admin:storage_apitoken_change", before.pk)
        issued = form.issue()
        if issued is None:
            return self._form_page(request, form)
        return self._issued_page(request, issued, _("The token has been issued"))

    def _initial(self, request: HttpRequest) -> dict[str, Any]:
        """Fill the form for a replacement with the values of the old token."""
        like = self.get_queryset(request).filter(pk__in=uuids_of(request.GET.get("like", ""))).first()
        if like is None:
            return {"place": request.GET.get("place", "")}
        return {
            "name": like.name,
            "roles": like.roles,
            "user_id": like.user_id,
            "place": f"{SCIM}{like.provider_id}" if like.provider_id else str(like.collection_id or ""),
            "networks": "\n".join(like.networks),
            "is_read_only": like.is_read_only,
            "facets": like.facets,
            "operations": "\n".join(like.operations),
        }

    def _form_page(self, request: HttpRequest, form: IssueForm) -> HttpResponse:
        page = FormPage(_("Issue a token"), _("Issue the token"), form.fieldsets)
        return page.render(self, request, form)

    def _issued_page(self, request: HttpRequest, issued: IssuedToken, title: Any, note: str = "") -> HttpResponse:
        address = f"{public_base(request)}{context_of_token(issued.token).path}/_api/rest"
        calls = [f"{address}/info", f"{address}/facets"]
        if issued.token.provider is not None:
            calls = [f"{scim_address(request, issued.token.provider)}/Users"]
        header = f"Authorization: Bearer {issued.value}"
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "note": note,
            "opts": self.opts,
            "heading": issued.token.name,
            "label": _("Value of the token"),
            "secret": issued.value,
            "done_address": reverse("admin:storage_apitoken_changelist"),
            "roles": role_badges(issued.token.roles),
            "calls": [f"curl -H '{header}' {each}" for each in calls],
        }
        response = TemplateResponse(request, "back_office/tokens/issued.html", context)
        response["Cache-Control"] = "no-store"
        return response

    # Revoking

    @action(
        description=_("Revoke"),
        url_path="revoke",
        icon="block",
        variant=ActionVariant.DANGER,
        permissions=["revoke"],
    )
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        token = self._found(request, object_id)
        if request.method != "POST":
            return self._confirmation(request, [token], original=token)
        self._revoke(request, [token])
        return redirect("admin:storage_apitoken_change", token.pk)

    @admin.action(description=_("Revoke the selected tokens"), permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> HttpResponseBase | None:
        if "confirmed" not in request.POST:
            return self._confirmation(request, list(queryset))
        self._revoke(request, queryset)
        return None

    def _revoke(self, request: HttpRequest, tokens: Iterable[ApiToken]) -> None:
        revoked = sum(revoke_token(token) for token in tokens)
        text = ngettext("%d token has been revoked.", "%d tokens have been revoked.", revoked) % revoked
        messages.success(request, text)

    def _confirmation(
        self, request: HttpRequest, tokens: list[ApiToken], original: ApiToken | None = None
    ) -> HttpResponseBase:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Revoke the token?") if original else _("Revoke the selected tokens?"),
            "opts": self.opts,
            "original": original,
            "tokens": [(token, role_badges(token.roles), self.last_used(token)) for token in tokens],
            "hidden": []
            if original
            else [("action", "revoke_selected"), *((helpers.ACTION_CHECKBOX_NAME, token.pk) for token in tokens)],
        }
        return TemplateResponse(request, "back_office/tokens/revoke.html", context)

    def _found(self, request: HttpRequest, object_id: str) -> ApiToken:
        """Return a token of this list; raise 404 for any other."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        token = self.get_queryset(request).filter(pk__in=uuids_of(object_id)).first()
        if token is None:
            raise Http404
        assert isinstance(token, ApiToken)  # noqa: S101  the model of these pages
        return token

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the actions that apply: a valid token can be rotated, an ended one replaced."""
        found: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        token = self._found(request, object_id)
        offered = {
            "rotate": self.may_rotate(token),
            "limits": self.may_rotate(token),
            "end-old-value": token.has_valid_old_value(timezone.now()),
            "replace": self.may_replace(token),
            "revoke": token.revoked_on is None,
        }
        return [each for each in found if offered[each.path]]

    def may_replace(self, token: ApiToken) -> bool:
        return not self.may_rotate(token)
