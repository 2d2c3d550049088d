"""The apps of django-allauth, without their `apps.py` and, until something imports them, without their models (D500).

Commands and job workers need neither; the models alone would take them a tenth of a second. Web processes import the
models with the back office, so that deleting an account deletes its subjects.
"""

from django.apps import AppConfig


class LaterModels(AppConfig):
    default_auto_field = "django.db.models.AutoField"

    def import_models(self) -> None:
        # Registered by their own import, because the app is installed.
        self.models = self.apps.all_models[self.label]  # type: ignore[union-attr]  # the registry calls this


class AccountConfig(LaterModels):
    name = "allauth.account"


class SocialAccountConfig(LaterModels):
    name = "allauth.socialaccount"


class FactorConfig(LaterModels):
    default_auto_field = "django.db.models.BigAutoField"
    name = "allauth.mfa"
