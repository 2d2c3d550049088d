"""Forms of the back office, posted like a browser does: all fields of the page, with a few changes."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.test import Client

from facets.blueprint.definitions import Blueprint
from facets.rows.reading import read_blueprint
from facets.template_format.reading import read_template
from storage.models import Storage, StorageMembership, StorageRevision
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.facets.small_template import SMALL
from tests.factories import StaffAccountFactory

Values = dict[str, list[str]]
OLD = read_template(SMALL)
_forms: dict[tuple[str, tuple[Role, ...]], Values] = {}
"""Forms of a storage with an unchanged configuration: rendering one takes longer than most tests. All storages of a
template have the same ids in one process (`tests/written_configurations.py`)."""


class _ConfigurationFormParser(HTMLParser):
    """Collects the fields of a form as a browser would post them, without buttons."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id = form_id
        self.values: Values = {}
        self.is_inside = False
        self.disabled = 0
        self.select: str | None = None
        self.options: list[tuple[str, bool]] = []
        self.area: str | None = None
        self.text = ""

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        fields = dict(pairs)
        if tag == "form":
            self.is_inside = fields.get("id") == self.form_id
        if tag == "fieldset" and (self.disabled or "disabled" in fields):
            self.disabled += 1
        name = fields.get("name")
        if tag == "option":
            self.options.append((fields.get("value") or "", "selected" in fields))
        if not self.is_inside or not name or "disabled" in fields or self.disabled:
            return
        if tag == "select":
            self.select, self.options = name, []
        elif tag == "textarea":
            self.area, self.text = name, ""
        elif tag == "input":
            is_box = fields.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in fields:
                self.values.setdefault(name, []).append(fields.get("value") or ("on" if is_box else ""))

    def handle_data(self, data: str) -> None:
        if self.area is not None:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.is_inside = False
        elif tag == "fieldset" and self.disabled:
            self.disabled -= 1
        elif tag == "select" and self.select is not None:
            chosen = [value for value, is_selected in self.options if is_selected]
            first = [self.options[0][0]] if self.options else []
            self.values[self.select] = chosen or first
            self.select = None
        elif tag == "textarea" and self.area is not None:
            self.values[self.area] = [self.text.removeprefix("\n")]
            self.area = None


def form_of(page: str, form_id: str) -> Values:
    parser = _ConfigurationFormParser(form_id)
    parser.feed(page)
    return {name: values for name, values in parser.values.items() if "__prefix__" not in name}


class ConfigurationOffice:
    """The configuration pages of a storage for a user with these roles."""

    def __init__(self, storage: Storage, *roles: Role) -> None:
        account = StaffAccountFactory.create()
        StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])
        self.client = Client()
        self.client.force_login(account)
        self.base = f"/{storage.collection.key}/{storage.key}/admin/"
        self.storage, self.roles = storage, roles

    def get(self, path: str) -> Any:
        return self.client.get(self.base + path)

    def post(self, path: str, values: Any) -> Any:
        return self.client.post(self.base + path, values)

    def page(self, path: str) -> str:
        response = self.get(path)
        assert response.status_code == 200, response.content.decode()[:2000]
        return str(response.content.decode())

    def form(self, path: str) -> Values:
        """Return the values of a form; `path` starts with the name of its model."""
        if stored(self.storage) != OLD:
            return self._form(path)
        if (path, self.roles) not in _forms:
            _forms[path, self.roles] = self._form(path)
        return dict(_forms[path, self.roles])

    def _form(self, path: str) -> Values:
        return form_of(self.page(f"facets/{path}"), f"{path.split('/')[0]}_form")

    def save(self, path: str, values: Values, button: str = "_save") -> Any:
        return self.post(f"facets/{path}", {**values, button: ["1"]})


def changed(values: Values, **new: str | list[str] | None) -> Values:
    """Return changed values. Names have `__` for hyphens, as in `display_names__1031`; None removes a field."""
    found = dict(values)
    for name, value in new.items():
        key = name.replace("__", "-")
        if value is None:
            found.pop(key, None)
        else:
            found[key] = value if isinstance(value, list) else [value]
    return found


def added(values: Values, prefix: str, **fields: str | list[str]) -> Values:
    """Return values with one more row in a table of parts."""
    number = int(values[f"{prefix}-TOTAL_FORMS"][0])
    found = changed(values, **{f"{prefix}__TOTAL_FORMS": str(number + 1)})
    return changed(found, **{f"{prefix}__{number}__{name}": value for name, value in fields.items()})


def row_number(values: Values, prefix: str, field: str, value: str) -> int:
    """Return the number of the table row that has this value in this field."""
    total = int(values[f"{prefix}-TOTAL_FORMS"][0])
    return next(number for number in range(total) if values.get(f"{prefix}-{number}-{field}") == [value])


def address(storage: Storage, model: Any, page: str = "change", **wanted: Any) -> str:
    with tenant_scope(storage):
        return f"{model._meta.model_name}/{model.objects.get(**wanted).pk}/{page}/"


def stored(storage: Storage) -> Blueprint:
    with tenant_scope(storage):
        return read_blueprint()


def revision(storage: Storage) -> int:
    return StorageRevision.objects.get(pk=storage.pk).configuration_revision
