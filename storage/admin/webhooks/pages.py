"""Webhooks in the back office of a storage: the list, the form, the secret, and a test. For administrators only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.views import ChangeList

from storage.admin.webhooks.forms import SecretForm, WebhookForm
from storage.back_office import NavigationEntry, NavigationGroup, StorageModelAdmin, storage_office
from storage.back_office.cells import ago, badge, badges, moment, two_lines
from storage.back_office.domain_forms import FormPage
from storage.back_office.fields import uuids_of
from storage.models import DeliveryState, Webhook
from storage.options import Role
from storage.pages import caller_of, storage_of
from storage.webhooks.changing import IssuedSecret, change_webhook, create_webhook, delete_webhook, rotate_secret
from storage.webhooks.deliveries import send_test, undelivered_messages
from storage.webhooks.fan_out import MOST_WAITING

ADMINISTRATORS = frozenset({Role.ADMINISTRATOR})
LIST = "admin:storage_webhook_changelist"
DELIVERIES = "admin:storage_webhookdelivery_changelist"
# Names of events in a row of the list.
SHOWN_EVENTS = 3


class CountingList(ChangeList):
    """List that counts the messages of all webhooks on its page together."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        numbers = undelivered_messages()
        for webhook in self.result_list:
            webhook.numbers = {state: numbers.get((webhook.pk, state), 0) for state in DeliveryState.values}


@admin.register(Webhook, site=storage_office)
class WebhookAdmin(StorageModelAdmin):
    viewers = ADMINISTRATORS
    changers = ADMINISTRATORS
    list_display = ("url", "event_list", "condition", "state_badge", "messages_left", "created")
    ordering = ("created_on", "id")
    actions = None
    actions_list = ("create",)
    actions_detail = ("list_deliveries", "test", "rotate", "remove")
    show_add_link = False

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return CountingList

    # Columns

    @admin.display(description=gettext_lazy("events"))
    def event_list(self, webhook: Webhook) -> SafeString | str:
        if not webhook.events:
            return _("all")
        more = len(webhook.events) - SHOWN_EVENTS
        rest = [badge(f"+{more}", title=", ".join(webhook.events[SHOWN_EVENTS:]))] if more > 0 else []
        return _codes([*(badge(each) for each in webhook.events[:SHOWN_EVENTS]), *rest])

    @admin.display(description=gettext_lazy("only"))
    def condition(self, webhook: Webhook) -> SafeString:
        return _codes([badge(each) for each in (webhook.facet, webhook.element_type, webhook.state) if each])

    @admin.display(description=gettext_lazy("state"))
    def state_badge(self, webhook: Webhook) -> SafeString:
        if webhook.is_enabled:
            return badge(_("Enabled"), "success")
        return format_html("{} {}", badge(_("Disabled"), "danger"), _reason(webhook))

    @admin.display(description=gettext_lazy("messages"))
    def messages_left(self, webhook: Any) -> SafeString:
        address = f"{reverse(DELIVERIES)}?webhook={webhook.pk}"
        number = webhook.numbers[DeliveryState.WAITING]
        # Otherwise nobody would know why the receiver gets no messages about new events (D341).
        waiting = (_("%d waiting; further events follow later") if number >= MOST_WAITING else _("%d waiting")) % number
        number = webhook.numbers[DeliveryState.DEAD]
        dead = ngettext("%d dead letter", "%d dead letters", number) % number
        texts = {DeliveryState.WAITING: waiting, DeliveryState.DEAD: dead}
        link = '<a class="underline" href="{}&amp;state={}">{}</a>'
        return two_lines(*(format_html(link, address, state.value, text) for state, text in texts.items()))

    @admin.display(description=gettext_lazy("created"), ordering="created_on")
    def created(self, webhook: Webhook) -> SafeString:
        return two_lines(ago(webhook.created_on), webhook.created_by)

    # Changes

    @action(
        description=gettext_lazy("Add a webhook"),
        url_path="create",
        icon="add",
        variant=ActionVariant.PRIMARY,
        permissions=["add"],
    )
    def create(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:storage_webhook_add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        storage, by = storage_of(request), caller_of(request).label
        form = WebhookForm(storage, request.POST if request.method == "POST" else None)
        issued = form.attempt(lambda: create_webhook(storage, by, form.given)) if form.is_valid() else None
        if issued is not None:
            return self._secret_page(request, issued, _("The webhook has been added"))
        return FormPage(_("Add a webhook"), _("Add the webhook"), form.fieldsets).render(self, request, form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        webhook, storage, by = self._found(request, object_id), storage_of(request), caller_of(request).label
        form = WebhookForm(storage, request.POST if request.method == "POST" else None, webhook)
        changed = None
        if form.is_valid():
            changed = form.attempt(lambda: change_webhook(storage, by, webhook.pk, form.given, form.check))
        if changed is not None:
            messages.success(request, _("The webhook has been changed."))
            return redirect(LIST)
        if not form.is_bound and (reason := _reason(webhook)):
            messages.warning(request, reason)
        buttons = self._get_actions_navigation(
            self.actions_detail, self.get_actions_detail(request, webhook.pk), str(webhook.pk)
        )
        page = FormPage(webhook.url, _("Save"), form.fieldsets, webhook, context={"actions_detail": buttons})
        return page.render(self, request, form)

    @action(description=gettext_lazy("Deliveries"), url_path="deliveries", icon="outbox")
    def list_deliveries(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect(f"{reverse(DELIVERIES)}?webhook={self._found(request, object_id).pk}")

    @action(description=gettext_lazy("Send a test"), url_path="test", icon="send")
    def test(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        webhook = self._found(request, object_id)
        text = _("The receiver gets an event of the type webhook.test, signed like every other one.")
        if request.method != "POST":
            return confirmation_page(self, request, webhook, _("Send a test?"), text, _("Send"))
        delivery = send_test(storage_of(request), webhook.pk)
        messages.success(request, _("The test waits for the worker. Reload this page to see the result."))
        return redirect("admin:storage_webhookdelivery_change", delivery.pk)

    @action(description=gettext_lazy("New secret"), url_path="rotate", icon="autorenew")
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        webhook, storage, by = self._found(request, object_id), storage_of(request), caller_of(request).label
        form = SecretForm(request.POST if request.method == "POST" else None)
        overlap = form.cleaned_data["overlap"] if form.is_valid() else None
        if overlap is not None and (issued := form.attempt(lambda: rotate_secret(storage, by, webhook.pk, overlap))):
            end = issued.webhook.old_secret_until
            note = _("The old secret signs until %s.") % moment(end) if end else _("The old secret has ended.")
            return self._secret_page(request, issued, _("The webhook has a new secret"), note)
        page = FormPage(_("New secret for the webhook"), _("Create the new secret"), form.fieldsets, webhook)
        return page.render(self, request, form)

    @action(description=gettext_lazy("Delete"), url_path="remove", icon="delete", variant=ActionVariant.DANGER)
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        webhook = self._found(request, object_id)
        text = _("The receiver gets nothing more. Waiting messages, dead letters and the log are deleted as well.")
        if request.method != "POST":
            title, variant = _("Delete the webhook?"), "danger"
            return confirmation_page(self, request, webhook, title, text, _("Delete"), variant)
        delete_webhook(storage_of(request), webhook.pk)
        messages.success(request, _("The webhook has been deleted."))
        return redirect(LIST)

    def _secret_page(self, request: HttpRequest, issued: IssuedSecret, title: str, note: str = "") -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "note": note,
            "opts": self.opts,
            "heading": issued.webhook.url,
            "label": _("Secret of the webhook"),
            "secret": issued.secret,
            "done_address": reverse("admin:storage_webhook_change", args=[issued.webhook.pk]),
        }
        response = TemplateResponse(request, "back_office/webhooks/secret.html", context)
        response["Cache-Control"] = "no-store"
        return response

    def _found(self, request: HttpRequest, object_id: str) -> Webhook:
        if not self.has_change_permission(request):
            raise PermissionDenied
        found = self.get_queryset(request).filter(pk__in=uuids_of(object_id)).first()
        if found is None:
            raise Http404
        assert isinstance(found, Webhook)  # noqa: S101  the model of these pages
        return found


def confirmation_page(
    model_admin: ModelAdmin,
    request: HttpRequest,
    original: Model,
    title: str,
    text: str,
    button: str,
    variant: str = "primary",
) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "text": text,
        "button": button,
        "variant": variant,
        "opts": model_admin.opts,
        "original": original,
        "back": reverse(f"admin:storage_{model_admin.opts.model_name}_change", args=[original.pk]),
    }
    return TemplateResponse(request, "back_office/webhooks/confirmation.html", context)


def _codes(found: list[SafeString]) -> SafeString:
    """Return badges with names of the API, in which capital letters matter."""
    return format_html('<span class="code-badges">{}</span>', badges(found))


def _reason(webhook: Webhook) -> str:
    """Return why the service has disabled a webhook; nothing if a person has."""
    return _(webhook.disabled_reason) if webhook.disabled_reason else ""


storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.ACCESS,
        gettext_lazy("Webhooks"),
        "webhook",
        "storage_webhook_changelist",
        roles=ADMINISTRATORS,
    )
)
