"""Forms to issue a token."""

from __future__ import annotations

from typing import Any, ClassVar
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

from storage.access.token_limits import TokenLimits, facet_names
from storage.access.tokens import NAME_LENGTH, IssuedToken, issue_token
from storage.back_office.domain_forms import DomainForm, Fieldsets
from storage.back_office.fields import LinesField, MomentField, RoleField, UserField
from storage.models import IdentityProvider, StorageCollection
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType

TICKET_SALT = "issue-token"
# Begins the choices of directories.
SCIM = "scim:"


class IssueForm(DomainForm):
    """Base form. `ticket` is the signed id of the new token: a form that is sent twice issues one token."""

    places = {
        "name": "name",
        "roles": "roles",
        "valid until": "valid_until",
        "user": "user_id",
        "networks": "networks",
        "facets": "facets",
        "operations": "operations",
    }
    fieldsets: ClassVar[Fieldsets]

    name = forms.CharField(
        label=_("Name"),
        help_text=_("Purpose of the token, shown in lists: “Intranet search”, “Nightly import”."),
        widget=UnfoldAdminTextInputWidget({"maxlength": NAME_LENGTH, "autofocus": True, "autocomplete": "off"}),
    )
    valid_from = MomentField(label=_("Valid from"), help_text=_("Leave empty for now."))
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
    ticket = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial={"ticket": signing.dumps(str(uuid4()), salt=TICKET_SALT), **(initial or {})})
        self.fields["valid_until"].help_text = _("Leave empty for %d days.") % settings.TOKEN_DAYS
        zone = _("Time zone: %s.") % timezone.get_current_timezone_name()
        for name in ("valid_from", "valid_until"):
            self.fields[name].help_text = f"{self.fields[name].help_text} {zone}"

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
        """Return the provider of a token of SCIM (D541)."""
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
                limits=TokenLimits(
                    given["networks"].split(),
                    given["is_read_only"],
                    given.get("facets", ()),
                    given["operations"].split(),
                ),
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
    facets = forms.MultipleChoiceField(
        label=_("Only these facets"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=_("Elements of other facets do not exist for the token. Choose none for all facets."),
    )

    def __init__(self, context: Context, data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        self.context = context
        if context.storage is not None:
            facets = self.fields["facets"]
            assert isinstance(facets, forms.MultipleChoiceField)  # noqa: S101  declared above
            facets.choices = [(name, name) for name in facet_names(context.storage)]
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
    """Form for an Administrator's token of a collection or of the site, or for a token of SCIM, which has no role."""

    fieldsets = (
        (None, {"fields": ("name", "place", "ticket")}),
        (_("Validity"), {"fields": ("valid_from", "valid_until", "never_expires")}),
        (_("Limits"), {"fields": ("networks", "is_read_only", "operations")}),
    )

    place = forms.ChoiceField(
        label=_("For"),
        widget=UnfoldAdminSelectWidget(),
        help_text=_(
            "The token has the role Administrator there, and gives no access to storages. A token of SCIM has no role;"
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
