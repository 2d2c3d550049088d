"""Files of a storage in its back office, for administrators (D449): uploads, uses, and the state of their texts."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import get_script_prefix
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.views import ChangeList

from repository_site.core.database.statements import fetch, id_array
from storage.access.staff import staff_names
from storage.access.tokens import token_names
from storage.back_office import NavigationGroup, StorageModelAdmin, storage_office
from storage.back_office.cells import ago, badge, two_lines
from storage.back_office.select_filter import SelectFilter
from storage.files import FILES_PATH
from storage.files.cleaning import is_unused
from storage.models import FileText, StoredFile
from storage.options import Role
from storage.pages import storage_of

ADMINISTRATORS = frozenset({Role.ADMINISTRATOR})
State = FileText.State
KINDS = {State.READ: "success", State.CUT: "success", State.WAITING: "info", State.UNREADABLE: "warning"}


class TextStateFilter(SelectFilter):
    title = gettext_lazy("text")
    parameter_name = "text"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*State.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StoredFile]) -> QuerySet[StoredFile]:
        if self.value() not in State.values:
            return queryset
        texts = FileText.objects.all()
        if self.value() == State.WAITING:
            # Files from before the texts have no row until the first night.
            return queryset.exclude(digest__in=texts.exclude(state=State.WAITING).values("digest"))
        return queryset.filter(digest__in=texts.filter(state=self.value()).values("digest"))


class FilesList(ChangeList):
    """List that reads uses and texts of all files on its page in one statement."""

    def url_for_result(self, result: StoredFile) -> str:
        return f"{get_script_prefix()}{FILES_PATH}{result.pk}"

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        sql = f"""SELECT f.id, t.state, {is_unused()} FROM storage_storedfile f
            LEFT JOIN storage_filetext t ON t.digest = f.digest WHERE f.id = ANY(%s::uuid[])"""  # noqa: S608  constants
        found = {id: more for id, *more in fetch(sql, [id_array(str(each.pk) for each in self.result_list)])}
        uploaders = {each.uploaded_by for each in self.result_list}
        names = staff_names(uploaders) | token_names(storage_of(request), uploaders)
        for file in self.result_list:
            file.text_state, file.is_unused = found.get(file.pk, (None, True))
            file.uploader = names.get(file.uploaded_by, file.uploaded_by)


@admin.register(StoredFile, site=storage_office)
class StoredFileAdmin(StorageModelAdmin):
    """Read-only list: files are uploaded where they are used, and removed when nothing uses them (D454)."""

    viewers = ADMINISTRATORS
    list_display = ("name", "kind", "text", "use", "uploaded")
    list_filter = (TextStateFilter,)
    search_fields = ("name",)
    search_help_text = gettext_lazy("Search by name")
    ordering = ("-uploaded_on", "id")
    actions = None

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Name the group of the navigation; the other lists of this app are about access."""
        title = capfirst(str(self.opts.verbose_name_plural))
        request.trail = [{"title": NavigationGroup.CONTENT.value}, {"title": title}]  # type: ignore[attr-defined]  # for the head
        return super().changelist_view(request, extra_context)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return FilesList

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.display(description=gettext_lazy("type"), ordering="media_type")
    def kind(self, file: StoredFile) -> SafeString:
        return two_lines(file.media_type, filesizeformat(file.size))

    @admin.display(description=gettext_lazy("text"))
    def text(self, file: Any) -> SafeString:
        state = State(file.text_state or State.WAITING)
        return badge(str(state.label), KINDS.get(state, ""))

    @admin.display(description=gettext_lazy("use"))
    def use(self, file: Any) -> str:
        return _("Not used") if file.is_unused else _("Used")

    @admin.display(description=gettext_lazy("uploaded"), ordering="uploaded_on")
    def uploaded(self, file: Any) -> SafeString:
        return two_lines(ago(file.uploaded_on), file.uploader)
