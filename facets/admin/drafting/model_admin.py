"""Base class of all configuration forms, which edit a draft that is checked before it is written (D105).

A posted form is parsed, applied to a draft and checked. If the draft has problems, or was posted for a preview only,
the form is processed a second time with the errors in the snapshot, and shown again with everything that was typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from facets.admin.drafting.admin_mixin import ConfigurationFields, may_edit
from facets.admin.drafting.preview_panel import Answers, ApiAnswer, PreviewPanel, current_panel, panel_of
from facets.admin.drafting.problem_places import errors_of
from facets.admin.drafting.row_forms import ConfigurationForm, PartFormSet
from facets.admin.drafting.row_links import change_address
from facets.admin.drafting.row_lists import ConfigurationList
from facets.admin.drafting.snapshot import FormErrors, name_of, snapshot_of
from facets.changing.changes import EditPlan, EditRefused, edit_configuration, plan_edit
from facets.configuration import Configuration
from facets.rows.drafts import Draft, no_row
from facets.rows.reading import Row, Rows
from repository_site.core.problems import Busy, NotFound, PreconditionFailed
from storage.back_office import StorageModelAdmin
from storage.pages import storage_address, storage_of

FINGERPRINT, CHECK, PREVIEW = "_read", "_check", "_preview"


class ShownAgain(Exception):
    """Raised to leave Django's save path and show the form again with its errors and preview."""

    def __init__(self, plan: EditPlan | None, errors: FormErrors, row_id: str, *, is_stale: bool) -> None:
        super().__init__()
        self.plan, self.errors, self.row_id, self.is_stale = plan, errors, row_id, is_stale


class ConfigurationAdmin(ConfigurationFields, ConfigurationList, StorageModelAdmin):
    form: type[ConfigurationForm] = ConfigurationForm
    change_form_template = "back_office/configuration/change_form.html"
    help: ClassVar[Any] = ""
    """A short introduction above the form."""

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("back_office/configuration.css",)}
        js = ("back_office/configuration.js",)

    def answers(self, request: HttpRequest, configuration: Configuration, rows: Rows, row: Row) -> Iterable[ApiAnswer]:
        """Return the API answers about a row, for the preview."""
        return ()

    def focus(self, row: Any) -> str:
        return ""

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **options: Any) -> Any:
        found = super().get_form(request, obj, change, **options)
        found.snapshot = snapshot_of(request)
        return found

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Attach the snapshot, for columns that show other rows."""
        found: Any = super().get_object(request, object_id, from_field)
        if found is not None:
            found.snapshot = snapshot_of(request)
        return found

    def trail(self, row: Any) -> list[tuple[str, str]]:
        """Return the breadcrumbs of a row: titles and addresses, outermost first."""
        return [
            (
                str(self.opts.verbose_name_plural).capitalize(),
                reverse(f"admin:facets_{self.opts.model_name}_changelist"),
            )
        ]

    def set_trail(self, request: HttpRequest, row: Any, *last: str) -> None:
        found = self.trail(row)
        if row is not None:
            # Read the stored name: a form that is shown again has changed the row in memory.
            stored = snapshot_of(request).rows.row(self.model, row.pk)
            found.append((name_of(stored), change_address(row)))
        parts = [*found, *((title, "") for title in last)]
        request.trail = [{"title": title, "link": link} for title, link in parts]  # type: ignore[attr-defined]  # for the head

    def _changeform_view(
        self, request: HttpRequest, object_id: str | None, form_url: str, extra_context: dict[str, Any] | None
    ) -> HttpResponse:
        def go(panel: PreviewPanel | None = None) -> HttpResponse:
            context = {**(extra_context or {}), "panel": panel}
            found: HttpResponse = super(ConfigurationAdmin, self)._changeform_view(
                request, object_id, form_url, context
            )
            return found

        if request.method != "POST":
            return go(self._current_panel(request, object_id))
        try:
            with transaction.atomic():
                response = go()
        except ShownAgain as again:
            panel = self._panel(request, again)
            if PREVIEW in request.POST:
                return _preview(request, panel)
            snapshot_of(request).errors = again.errors
            return go(panel)
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            # Fields of the form are invalid, so no draft could be checked.
            if PREVIEW in request.POST:
                return _preview(request, PreviewPanel(problems=_form_errors(response.context_data), is_judged=True))
            response.context_data["panel"] = self._current_panel(request, object_id)
        return response

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        """Do nothing: `save_related` writes everything at once."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        read = request.POST.get(FINGERPRINT, "")

        def is_stale(draft: Draft) -> bool:
            return change and draft.fingerprint(self.model, form.instance.pk) != read

        def edit(draft: Draft) -> None:
            if is_stale(draft):
                raise PreconditionFailed("Someone else has changed this entry.")
            apply_forms(draft, form, formsets)

        if CHECK in request.POST or PREVIEW in request.POST:
            plan = plan_edit(storage_of(request), lambda draft: apply_forms(draft, form, formsets))
            stale = is_stale(snapshot_of(request).rows)
            raise self._shown_again(form, formsets, plan, is_stale=stale)
        try:
            edit_configuration(storage_of(request), edit)
        except EditRefused as refused:
            raise self._shown_again(form, formsets, refused.plan) from refused
        except PreconditionFailed:
            plan = plan_edit(storage_of(request), lambda draft: apply_forms(draft, form, formsets))
            raise self._shown_again(form, formsets, plan, is_stale=True) from None
        except Busy as busy:
            raise ShownAgain(None, {None: [(None, busy.message)]}, str(form.instance.pk), is_stale=False) from busy

    def _shown_again(self, form: Any, formsets: Sequence[Any], plan: EditPlan, *, is_stale: bool = False) -> ShownAgain:
        forms = [form, *(part for formset in formsets for part in formset.forms)]
        errors = errors_of(plan.problems, forms, plan.rows)
        errors.setdefault(None, []).extend((None, text) for text in plan.obstacles)
        if is_stale:
            text = _(
                "Someone else has changed this entry since you opened it. Your input is kept. Check the changes below,"
                " then save again to apply them."
            )
            errors[None].insert(0, (None, text))
        return ShownAgain(plan, errors, str(form.instance.pk), is_stale=is_stale)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Return nothing: the admin log is not used, and formsets that are not saved cannot report changes."""
        return []

    def _answers(self, request: HttpRequest, row_id: str) -> Answers:
        def of(configuration: Configuration, rows: Rows) -> Iterable[ApiAnswer]:
            row = next((each for each in rows[self.model] if each.id == row_id), None)
            return () if row is None else self.answers(request, configuration, rows, row)

        return of

    def _current_panel(self, request: HttpRequest, object_id: str | None) -> PreviewPanel:
        row_id = unquote(object_id).lower() if object_id else ""
        return current_panel(storage_of(request), snapshot_of(request).stored, self._answers(request, row_id))

    def _panel(self, request: HttpRequest, again: ShownAgain) -> PreviewPanel:
        if again.plan is None:
            return PreviewPanel()
        return panel_of(again.plan, self._answers(request, again.row_id), is_stale=again.is_stale)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        original = context.get("original")
        is_read_only = not may_edit(request)
        self.set_trail(request, original, *([] if original else [_("New")]))
        context["panel_address"] = f"{storage_address(request)}/_api/"
        context["page_help"] = self.help
        context["is_read_only"] = is_read_only
        if original is not None:
            context["focus"] = self.focus(original)
            context["fingerprint"] = snapshot_of(request).rows.fingerprint(self.model, original.pk)
        if is_read_only:
            context |= {
                "title": _("View %(name)s") % {"name": self.opts.verbose_name},
                "show_save": False,
                "show_save_and_continue": False,
                "show_save_and_add_another": False,
                "has_delete_permission": False,
                "show_close": True,
                "has_add_permission": False,
            }
        found: HttpResponse = super().render_change_form(request, context, *args, **options)
        return found

    def _delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        found = self.get_object(request, unquote(object_id))
        if not may_edit(request):
            raise PermissionDenied
        if found is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)

        def edit(draft: Draft) -> None:
            draft.remove(self.model, found.pk)

        if request.method == "POST":
            try:
                edit_configuration(storage_of(request), edit)
                response: HttpResponse = self.response_delete(request, str(found), str(found.pk))
                return response
            except EditRefused as refused:
                plan = refused.plan
        else:
            plan = plan_edit(storage_of(request), edit, snapshot_of(request).stored)
        self.set_trail(request, found, _("Delete"))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Delete %(name)s") % {"name": found},
            "object": found,
            "opts": self.opts,
            "panel": panel_of(plan, lambda configuration, rows: ()),
            "media": self.media,
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name  # read by unfold
        return TemplateResponse(request, "back_office/configuration/delete.html", context)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise NotFound(no_row(opts.model, unquote(object_id)[:100]))


def apply_forms(draft: Draft, form: ConfigurationForm, formsets: Sequence[PartFormSet]) -> None:
    """Apply additions before removals, so references between new rows resolve; remove parts before their owners."""
    form.apply(draft)
    for formset in formsets:
        formset.put_all(draft)
    for formset in reversed(formsets):
        formset.remove_gone(draft)
    form.conclude(draft)


def _form_errors(context: dict[str, Any]) -> list[str]:
    """Return the errors of Django's form fields, each with the label of its field."""
    forms = [context["adminform"].form]
    forms += [form for formset in context["inline_admin_formsets"] for form in formset.formset.forms]
    found = []
    for form in forms:
        for name, errors in form.errors.items():
            label = form.fields[name].label if name in form.fields else ""
            found += [f"{label}: {error}" if label else str(error) for error in errors]
    return list(dict.fromkeys(found))


def _preview(request: HttpRequest, panel: PreviewPanel) -> JsonResponse:
    """Return the preview as JSON; the script of the page inserts `html`."""
    context = {"panel": panel, "panel_address": f"{storage_address(request)}/_api/"}
    return JsonResponse(
        {
            "problems": list(panel.problems),
            "obstacles": list(panel.obstacles),
            "differences": [str(each) for each in panel.differences],
            "answers": [{"address": each.address, "body": each.body} for each in panel.answers],
            "html": render_to_string("back_office/configuration/panel.html", context, request),
        }
    )
