"""The rules of a provider, and what a person would get from them before they are saved (D503)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from storage.access.user_directory import user_names
from storage.admin.sign_on.forms import AccessRuleForm
from storage.back_office.role_texts import role_names
from storage.models import AccessRule, IdentityProvider, Storage
from storage.single_sign_on.linking import person_of, tried_grants
from storage.single_sign_on.providers import rule_problems, save_rules
from storage.single_sign_on.rules import MOST_RULES

EMPTY_ROWS = 3
MOST_PEOPLE = 50
LONGEST_CLAIMS = 70_000
EXAMPLE = '{"sub": "248289761001", "email": "jo@example.org", "email_verified": true, "groups": ["editors"]}'


@dataclass(frozen=True, slots=True)
class TriedAccess:
    """A line of the answer to "What would this person get?"."""

    storage: Storage
    roles: str
    rules: str
    user: str


def rules_page(model_admin: ModelAdmin, request: HttpRequest, provider: IdentityProvider) -> HttpResponseBase:
    wanted = Storage.objects.select_related("collection").order_by("collection__key", "key")
    if provider.collection_id is not None:
        wanted = wanted.filter(collection=provider.collection_id)
    storages = {each.pk: each for each in wanted}
    collection_of = {key: each.collection_id for key, each in storages.items()}
    rows = _rows(request, provider, storages)
    context: dict[str, Any] = {"claims": _claims_text(request, provider)}
    if request.method == "POST":
        problems = [f"{_('Rule %d') % place}: {text}" for place, row in enumerate(rows, 1) for text in _errors(row)]
        rules = [] if problems else [rule for row in rows if (rule := row.rule())]
        problems += rule_problems(provider, rules, collection_of)
        if not problems and "save" in request.POST:
            save_rules(provider, rules)
            messages.success(request, _("The rules have been saved. They apply from the next sign-in on."))
            return redirect("admin:storage_identityprovider_rules", provider.pk)
        if not problems and "more" not in request.POST:
            context |= _tried(provider, rules, context["claims"])
        context["problems"] = [] if "more" in request.POST else problems
    context |= {
        **model_admin.admin_site.each_context(request),
        "title": _("Rules of %s") % provider,
        "opts": model_admin.opts,
        "original": provider,
        "rows": rows,
        "people": _people(provider),
        "example": EXAMPLE,
    }
    return TemplateResponse(request, "site_office/access_rules.html", context)


def _rows(request: HttpRequest, provider: IdentityProvider, storages: dict[Any, Storage]) -> list[AccessRuleForm]:
    if request.method == "POST":
        given = str(request.POST.get("rows", ""))
        number = min(int(given[:9]), MOST_RULES + EMPTY_ROWS) if given.isdecimal() else 0
        rows = [AccessRuleForm(request.POST, prefix=f"rule{place}", storages=storages) for place in range(number)]
        if "more" in request.POST:
            rows += [AccessRuleForm(prefix=f"rule{number + place}", storages=storages) for place in range(EMPTY_ROWS)]
        return rows
    held: list[AccessRule | None] = list(AccessRule.objects.filter(provider=provider).order_by("position", "id"))
    held += [None] * EMPTY_ROWS
    return [
        AccessRuleForm(initial=_initial(rule), prefix=f"rule{place}", storages=storages)
        for place, rule in enumerate(held)
    ]


def _initial(rule: AccessRule | None) -> dict[str, Any]:
    if rule is None:
        return {}
    names = ("claim", "comparison", "value", "roles", "user_claim", "user_attribute")
    return {**{name: getattr(rule, name) for name in names}, "storage": str(rule.storage_id)}


def _errors(row: AccessRuleForm) -> list[str]:
    return [str(text) for texts in row.errors.values() for text in texts]


def _people(provider: IdentityProvider) -> list[tuple[int, str]]:
    """Return the people who have signed in last: their claims can be tried out."""
    from allauth.socialaccount.models import SocialAccount

    found = SocialAccount.objects.filter(provider=str(provider.pk)).select_related("user").order_by("-last_login")
    return [(each.pk, each.user.get_full_name() or each.user.get_username()) for each in found[:MOST_PEOPLE]]


def _claims_text(request: HttpRequest, provider: IdentityProvider) -> str:
    """Return the claims that were typed, or those of the chosen person at the last sign-in."""
    from allauth.socialaccount.models import SocialAccount

    chosen = str(request.POST.get("person", ""))
    if chosen.isdecimal():
        found = SocialAccount.objects.filter(provider=str(provider.pk), pk=int(chosen[:18])).first()
        if found is not None:
            return orjson.dumps(found.extra_data, option=orjson.OPT_INDENT_2).decode()
    return str(request.POST.get("claims", ""))[:LONGEST_CLAIMS]


def _tried(provider: IdentityProvider, rules: list[AccessRule], text: str) -> dict[str, Any]:
    try:
        claims = orjson.loads(text)
    except orjson.JSONDecodeError:
        claims = None
    if not isinstance(claims, dict):
        return {"claims_problem": _("Expected claims as a JSON object, such as %s") % EXAMPLE}
    person = person_of(provider, claims)
    found = []
    for storage, grant, user in tried_grants(provider, rules, person.claims):
        names = user_names(storage, [user]) if user else {}
        missing = _("not found: %s") % grant.user_value if grant.user_attribute else ""
        found.append(
            TriedAccess(
                storage,
                ", ".join(map(str, role_names(grant.roles))),
                ngettext("Rule %(places)s", "Rules %(places)s", len(grant.rules))
                % {"places": ", ".join(map(str, grant.rules))},
                names.get(user, missing) if user else missing,
            )
        )
    return {"tried": True, "access": found, "address": person.address}
