from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from storage.extension import StorageExtension


class FacetsConfig(AppConfig):
    name = "facets"
    verbose_name = _("Configuration")

    def ready(self) -> None:
        from facets import checks  # noqa: F401  registers the system check
        from storage.extension import storage_extensions

        storage_extensions.register(storage_extension)


def storage_extension() -> StorageExtension:
    from facets.changing.changes import provision_configuration
    from facets.event_filters import filter_names
    from facets.template_format.reading import SECTIONS
    from storage.extension import StorageExtension

    return StorageExtension(
        template_sections=frozenset(SECTIONS), provision=provision_configuration, filter_names=filter_names
    )
