from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReleaseConfig(AppConfig):
    name = "release"
    verbose_name = _("Release")
