from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FacetsConfig(AppConfig):
    name = "facets"
    verbose_name = _("Configuration")

    def ready(self) -> None:
        from facets import checks  # noqa: F401  registers the system check
        from facets.changes import provision_configuration
        from facets.template_reading import SECTIONS
        from storage import provisioning, template_documents

        provisioning.PROVISIONING_STEPS.append(provision_configuration)
        template_documents.SECTIONS.update(SECTIONS)
