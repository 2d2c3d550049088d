"""Forms to issue a token, and to change its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.conf import settings
from django.core import signing
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from storage.access.token_changes import CHANGED, change_limits
from storage.access.token_limits import TokenLimits, facet_names
from storage.access.tokens import NAME_LENGTH, IssuedToken, issue_token
from storage.back_office.domain_forms import DomainForm, Fieldsets
from storage.back_office.fields import LinesField, MomentField, RoleField, UserField
from storage.models import ApiToken, IdentityProvider, Storage, StorageCollection
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType

TICKET_SALT = "issue-token"
# Begins the choices of directories.
SCIM = "scim:"


class LimitsForm(DomainForm):
    """Base form: the end and the limits of a token."""

    places = {
        "name": "name",
        "roles": "roles",
        "valid until": "valid_until",
        "user": "user_id",
        "networks": "networks",
        "facets": "facets",
        "operations": "operations",
    }
    fieldsets: Fieldsets = ()

    valid_until = MomentField(label=_("Valid until"))
    never_expires = forms.BooleanField(
        label=_("Never expires"),
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
        help_text=_("Only if nobody can replace the token in time: a forgotten token stays dangerous."),
    )
    networks = LinesField(
        label=_("Only from these networks"),
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 2, "spellcheck": "false"}),
        help_text=_("One on each line, such as 192.0.2.0/24 or 2001:db8::/32. Leave empty for all networks."),
    )
    is_read_only = forms.BooleanField(
        label=_("Read only"),
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
        help_text=_("The token can change nothing, whatever its roles allow."),
    )
    operations = LinesField(
        label=_("Only these operations"),
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 2, "spellcheck": "false"}),
        help_text=_(
            "One operationId of the OpenAPI document on each line, such as listElements. Leave empty for all"
            " operations."
        ),
    )

    def __init__(self, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        self.explain("valid_until", _("If empty, the token is valid for %d days.") % settings.TOKEN_DAYS)

    def explain(self, name: str, text: Any) -> None:
        zone = _("Time zone: %s.") % timezone.get_current_timezone_name()
        self.fields[name].help_text = f"{text} {zone}"

    def offer_facets(self, storage: Storage, kept: Sequence[str] = ()) -> None:
        """Add the choice of facets. A token may keep those that are gone."""
        self.fields["facets"] = forms.MultipleChoiceField(
            label=_("Only these facets"),
            required=False,
            choices=[(name, name) for name in sorted({*facet_names(storage), *kept})],
            widget=UnfoldAdminCheckboxSelectMultipleWidget(),
            help_text=_("Elements of other facets do not exist for the token. Choose none for all facets."),
        )

    @property
    def limits(self) -> TokenLimits:
        given = self.cleaned_data
        return TokenLimits(
            given["networks"].split(), given["is_read_only"], given.get("facets", ()), given["operations"].split()
        )


class ChangeForm(LimitsForm):
    """Form to change the limits of a token. `seen` is the last change when the form was shown."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, token: ApiToken, data: Any = None) -> None:
        end = token.valid_until
        initial = {
            "valid_until": end,
            "never_expires": end is None,
            "networks": "\n".join(token.networks),
            "is_read_only": token.is_read_only,
            "facets": token.facets,
            "operations": "\n".join(token.operations),
            "seen": token.limited_on.isoformat() if token.limited_on else "",
        }
        super().__init__(data, initial=initial)
        self.token = token
        self.explain("valid_until", _("If empty, the token is valid for %d days from now.") % settings.TOKEN_DAYS)
        if token.storage is not None:
            self.offer_facets(token.storage, token.facets)
        scope = ("networks", "is_read_only", *(["facets"] if token.storage else []), "operations")
        self.fieldsets = (
            (_("Validity"), {"fields": ("valid_until", "never_expires", "seen")}),
            (_("Limits"), {"fields": scope}),
        )

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data["seen"] != self.initial["seen"]:
            raise forms.ValidationError(CHANGED)
        return self.cleaned_data

    def change(self) -> bool | None:
        """Change the token; return whether anything is different, or None with errors in the form."""
        given, end = self.cleaned_data, self.token.valid_until
        is_never, until = given["never_expires"], given["valid_until"]
        if end is not None and until == end.replace(second=0, microsecond=0):
            # Nobody has touched the field, which has no seconds.
            until = None if is_never else end
        return self.attempt(lambda: change_limits(self.token, self.limits, valid_until=until, never_expires=is_never))


class IssueForm(LimitsForm):
    """Base form. `ticket` is the signed id of the new token: a form that is sent twice issues one token."""

    name = forms.CharField(
        label=_("Name"),
        help_text=_("Purpose of the token, shown in lists: “Intranet search”, “Nightly import”."),
        widget=UnfoldAdminTextInputWidget({"maxlength": NAME_LENGTH, "autofocus": True, "autocomplete": "off"}),
    )
    valid_from = MomentField(label=_("Valid from"))
    ticket = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        ticket = signing.dumps(str(uuid4()), salt=TICKET_SALT)
        super().__init__(data, initial={"ticket": ticket, **(initial or {})})
        self.explain("valid_from", _("If empty, the token is valid at once."))

    def clean_ticket(self) -> UUID:
        try:
            return UUID(signing.loads(self.cleaned_data["ticket"], salt=TICKET_SALT))
        except (signing.BadSignature, ValueError):
            raise forms.ValidationError(_("This form has expired. Open it again.")) from None

    def add_error(self, field: str | None, error: Any) -> None:
        # The field is hidden, so its error is shown above the form.
        super().add_error(None if field == "ticket" else field, error)

    def token_context(self) -> Context:
        raise NotImplementedError

    def token_roles(self) -> list[Role]:
        return list(self.cleaned_data["roles"])

    def directory(self) -> IdentityProvider | None:
        """Return the provider of a SCIM token (D541)."""
        return None

    def issue(self) -> IssuedToken | None:
        """Return the new token, or None with errors in the form."""
        given = self.cleaned_data
        return self.attempt(
            lambda: issue_token(
                self.token_context(),
                given["name"],
                self.token_roles(),
                user_id=given.get("user_id"),
                valid_from=given["valid_from"],
                valid_until=given["valid_until"],
                never_expires=given["never_expires"],
                limits=self.limits,
                token_id=given["ticket"],
                provider=self.directory(),
            )
        )


class StorageIssueForm(IssueForm):
    fieldsets = (
        (None, {"fields": ("name", "roles", "user_id", "ticket")}),
        (_("Validity"), {"fields": ("valid_from", "valid_until", "never_expires")}),
        (_("Limits"), {"fields": ("networks", "is_read_only", "facets", "operations")}),
    )

    roles = RoleField()

    def __init__(self, context: Context, data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        self.context = context
        if context.storage is not None:
            self.offer_facets(context.storage)
            self.fields["user_id"] = UserField(
                context.storage,
                label=_("For the user"),
                help_text=_(
                    "Changes made with the token show the name of this user, and the token has only the roles that the"
                    " user has as well. Leave empty if changes should name the token."
                ),
            )

    def token_context(self) -> Context:
        return self.context


class AdministrativeIssueForm(IssueForm):
    """Form for an Administrator's token of a collection or of the site, or for a SCIM token, which has no role."""

    fieldsets = (
        (None, {"fields": ("name", "place", "ticket")}),
        (_("Validity"), {"fields": ("valid_from", "valid_until", "never_expires")}),
        (_("Limits"), {"fields": ("networks", "is_read_only", "operations")}),
    )

    place = forms.ChoiceField(
        label=_("For"),
        widget=UnfoldAdminSelectWidget(),
        help_text=_(
            "The token has the role Administrator there, and gives no access to storages. A SCIM token has no role;"
            " the directory of an identity provider uses it to provision people."
        ),
    )

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        self.collections = {str(each.pk): each for each in StorageCollection.objects.all()}
        names = [(key, _("Collection %s") % each) for key, each in self.collections.items()]
        field = self.fields["place"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  declared above
        found = IdentityProvider.objects.exclude(collection=None).select_related("collection")
        self.directories = {f"{SCIM}{each.pk}": each for each in found}
        text = _("SCIM for %(provider)s, collection %(collection)s")
        names += [
            (key, text % {"provider": each, "collection": each.collection}) for key, each in self.directories.items()
        ]
        field.choices = [("", _("The whole installation")), *names]
        field.required = False

    def token_roles(self) -> list[Role]:
        return [] if self.directory() else [Role.ADMINISTRATOR]

    def directory(self) -> IdentityProvider | None:
        return self.directories.get(self.cleaned_data["place"])

    def token_context(self) -> Context:
        directory = self.directory()
        collection = directory.collection if directory else self.collections.get(self.cleaned_data["place"])
        return Context(ContextType.COLLECTION, collection) if collection else Context(ContextType.SITE)
