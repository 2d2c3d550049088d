from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from elements.extension import ElementsExtension
    from storage.extension import StorageExtension


class ReleaseConfig(AppConfig):
    name = "release"
    verbose_name = _("Release")

    def ready(self) -> None:
        from elements.extension import elements_extensions
        from storage.extension import storage_extensions

        elements_extensions.register(elements_extension)
        storage_extensions.register(storage_extension)


def storage_extension() -> StorageExtension:
    from release.messages.periodic import MESSAGE_JOBS
    from release.schedule.periodic import lifecycle_everywhere
    from storage.extension import StorageExtension

    return StorageExtension(jobs=(lifecycle_everywhere, *MESSAGE_JOBS))


def elements_extension() -> ElementsExtension:
    from elements.extension import ElementsExtension
    from release.admin.element_panels import LIFECYCLE_PANEL, ElementTaskFilter, release_card
    from release.handing_over.steps import HANDING_OVER
    from release.lifecycle.bulk_steps import BULK_STEPS

    return ElementsExtension(
        panels=(LIFECYCLE_PANEL,),
        cards=(release_card,),
        filters=(ElementTaskFilter,),
        bulk_steps={**BULK_STEPS, **HANDING_OVER},
    )
