from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FacetsConfig(AppConfig):
    name = "facets"
    verbose_name = _("Configuration")

    def ready(self) -> None:
        from facets import checks  # noqa: F401  registers the system check
        from facets.changing.changes import provision_configuration
        from facets.template_format.reading import SECTIONS
        from storage.provisioning import provision, templates

        provision.PROVISIONING_STEPS.append(provision_configuration)
        templates.SECTIONS.update(SECTIONS)
