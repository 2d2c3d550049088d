"""Forms of the back office, posted like a browser does: all fields of the page, with a few changes."""

from __future__ import annotations

from typing import Any

from django.test import Client
from lxml.html import document_fromstring

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


def form_of(page: str, form_id: str) -> Values:
    """Return the fields of a form as a browser would post them, without buttons."""
    values: Values = {}
    for field in document_fromstring(page).get_element_by_id(form_id).iter("input", "select", "textarea"):
        name = field.get("name", "")
        is_disabled = "disabled" in field.attrib or any(
            "disabled" in each.attrib for each in field.iterancestors("fieldset")
        )
        if not name or "__prefix__" in name or is_disabled:
            continue
        if field.tag == "select":
            options = [*field.iter("option")]
            chosen = [each.get("value", "") for each in options if "selected" in each.attrib]
            values[name] = chosen or [each.get("value", "") for each in options[:1]]
        elif field.tag == "textarea":
            values[name] = [(field.text or "").removeprefix("\n")]
        elif field.get("type") not in ("checkbox", "radio"):
            values.setdefault(name, []).append(field.get("value", ""))
        elif "checked" in field.attrib:
            values.setdefault(name, []).append(field.get("value") or "on")
    return values


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
