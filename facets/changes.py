"""Changing the configuration of a storage as a whole: by provisioning, by a template, by the back office."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from facets.blueprint import Blueprint
from facets.differences import Hazard, describe_differences, hazards
from facets.row_reading import read_blueprint
from facets.row_writing import write_blueprint
from facets.template_reading import read_template
from repository_site.problems import Conflict, NotFound
from storage.models import Storage
from storage.template_documents import TemplateDocument
from storage.tenancy import tenant_scope

# Content lives in the apps above; they hang in here what says how much of it a change would orphan: a sentence such as
# "12 elements are of this type", or None.
UseCheck = Callable[[Hazard], str | None]
USE_CHECKS: list[UseCheck] = []


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """What a new configuration would change, and what stands in its way."""

    differences: list[str]
    obstacles: list[str]


def provision_configuration(storage: Storage, template: TemplateDocument) -> None:
    """The provisioning step of this app."""
    write_blueprint(read_template(template.sections))


def plan_change(storage: Storage, new: Blueprint) -> ConfigurationChange:
    with tenant_scope(storage):
        old = read_blueprint()
        return ConfigurationChange(describe_differences(old, new), find_obstacles(old, new))


def change_configuration(storage: Storage, new: Blueprint) -> ConfigurationChange:
    """Apply a new configuration, or raise Conflict naming all that it would orphan."""
    with tenant_scope(storage):
        # One change at a time: what is in use must not change between the look and the deed.
        if not Storage.objects.select_for_update(no_key=True).filter(pk=storage.pk).exists():
            raise NotFound(f"There is no storage {storage}.")
        change = plan_change(storage, new)
        if change.obstacles:
            raise Conflict("The change would orphan stored content.", change.obstacles)
        if change.differences:
            write_blueprint(new)
        return change


def find_obstacles(old: Blueprint, new: Blueprint) -> list[str]:
    found = []
    for hazard in hazards(old, new):
        for check in USE_CHECKS:
            use = check(hazard)
            if use is not None:
                place = ".".join(part for part in (hazard.type, hazard.property, hazard.value, hazard.state) if part)
                found.append(f"{place}: {hazard.what}, but {use}.")
    return found
