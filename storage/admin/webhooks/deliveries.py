"""Messages for webhooks in the back office: what waits, what has failed, each attempt, and sending again."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import action

from repository_site.core.problems import Problem
from storage.admin.webhooks.pages import ADMINISTRATORS, confirmation_page
from storage.back_office import StorageModelAdmin, storage_office
from storage.back_office.cells import NOTHING, ago, badge, moment
from storage.back_office.fields import uuids_of
from storage.back_office.select_filter import SelectFilter
from storage.models import DeliveryState, Webhook, WebhookDelivery
from storage.pages import storage_of
from storage.webhooks.deliveries import redeliver

# Messages that one statement names.
BATCH = 1000
KINDS = {DeliveryState.WAITING: "info", DeliveryState.DELIVERED: "success", DeliveryState.DEAD: "danger"}


class DeliveryStateFilter(SelectFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*DeliveryState.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
        return queryset.filter(state=self.value()) if self.value() in DeliveryState.values else queryset


class WebhookFilter(SelectFilter):
    title = gettext_lazy("webhook")
    parameter_name = "webhook"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(str(each.pk), each.url) for each in Webhook.objects.all()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
        known = {str(key) for key, _ in self.lookup_choices}
        return queryset.filter(webhook=self.value()) if self.value() in known else queryset


@admin.register(WebhookDelivery, site=storage_office)
class WebhookDeliveryAdmin(StorageModelAdmin):
    viewers = ADMINISTRATORS
    changers = ADMINISTRATORS
    list_display = ("type", "webhook", "state_badge", "attempts", "created", "due")
    list_filter = (WebhookFilter, DeliveryStateFilter)
    list_select_related = ("webhook",)
    ordering = ("-created_on", "-number", "id")
    actions = ("send_again",)
    actions_detail = ("send_this_again",)
    fieldsets = (
        (None, {"fields": ("type", "webhook", "state_badge", "created", "due", "content")}),
        (None, {"fields": ("attempt_list",)}),
    )
    readonly_fields = ("type", "webhook", "state_badge", "created", "due", "content", "attempt_list")

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookDelivery]:
        """Leave out the texts, which can be large. The page of one message reads its own."""
        found: QuerySet[WebhookDelivery] = super().get_queryset(request)
        return found.defer("message")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_send_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_view_permission(request)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise Http404

    @admin.action(description=gettext_lazy("Send again"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        chosen: dict[UUID, list[UUID]] = {}
        for webhook, id in queryset.order_by().values_list("webhook_id", "pk"):
            chosen.setdefault(webhook, []).append(id)
        # Somebody may have selected all messages of all pages.
        parts = [(each, ids[at : at + BATCH]) for each, ids in chosen.items() for at in range(0, len(ids), BATCH)]
        try:
            number = sum(redeliver(storage_of(request), webhook, ids) for webhook, ids in parts)
        except Problem as problem:
            messages.error(request, problem.message)
            return
        text = ngettext("%d message is sent again.", "%d messages are sent again.", number) % number
        messages.success(request, text)

    @action(description=gettext_lazy("Send again"), url_path="send", icon="redo", permissions=["send"])
    def send_this_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        found = self.get_queryset(request).filter(pk__in=uuids_of(object_id))
        delivery = found.first()
        if delivery is None:
            raise Http404
        if request.method != "POST":
            text = _("The receiver gets the same message once more, with the same webhook-id.")
            return confirmation_page(self, request, delivery, _("Send the message again?"), text, _("Send"))
        self.send_again(request, found)
        return redirect("admin:storage_webhookdelivery_change", delivery.pk)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Offer to send a message again, unless it already waits."""
        found: list[Any] = super().get_actions_detail(request, object_id)
        ended = self.get_queryset(request).filter(pk__in=uuids_of(object_id)).exclude(state=DeliveryState.WAITING)
        return found if ended.exists() else []

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def state_badge(self, delivery: WebhookDelivery) -> SafeString:
        state = DeliveryState(delivery.state)
        return badge(str(state.label), KINDS[state])

    @admin.display(description=gettext_lazy("created"), ordering="created_on")
    def created(self, delivery: WebhookDelivery) -> SafeString:
        return ago(delivery.created_on)

    @admin.display(description=gettext_lazy("next attempt"), ordering="next_attempt_on")
    def due(self, delivery: WebhookDelivery) -> str:
        return moment(delivery.next_attempt_on) if delivery.state == DeliveryState.WAITING else NOTHING

    @admin.display(description=gettext_lazy("message"))
    def content(self, delivery: WebhookDelivery) -> SafeString:
        text = json.dumps(json.loads(delivery.message), indent=2, ensure_ascii=False)
        return format_html('<pre class="job-error webhook-message" tabindex="0">{}</pre>', text)

    @admin.display(description=gettext_lazy("attempts"))
    def attempt_list(self, delivery: WebhookDelivery) -> SafeString:
        rows = [
            (
                moment(each.time),
                each.status or each.error,
                _("%d ms") % each.milliseconds,
                format_html('<pre class="job-error" tabindex="0">{}</pre>', each.answer) if each.answer else "",
            )
            for each in delivery.log.all()
        ]
        found = format_html_join("", '<li><span class="access-row-note">{}</span> {} ({}){}</li>', rows)
        return format_html('<ul class="access-rows">{}</ul>', found) if rows else SafeString(NOTHING)
