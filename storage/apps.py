from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from storage.extension import StorageExtension


class StorageConfig(AppConfig):
    name = "storage"
    verbose_name = _("Access")

    def ready(self) -> None:
        from storage.extension import storage_extensions
        from storage.tenancy import checks  # noqa: F401  registers the system checks

        storage_extensions.register(own_extension)
        post_migrate.connect(after_migrating, sender=self)
        user_logged_in.connect(record_session)


def own_extension() -> StorageExtension:
    from storage.accounts.invitations import mail_invitation
    from storage.accounts.password_resets import ask_accounts, mail_reset
    from storage.extension import StorageExtension
    from storage.files.texts import read_texts
    from storage.housekeeping import HOUSEKEEPING
    from storage.webhooks.delivering import deliver
    from storage.webhooks.fan_out import fan_out, revive

    account_jobs = mail_invitation, ask_accounts, mail_reset
    return StorageExtension(jobs=(*HOUSEKEEPING, read_texts, fan_out, revive, deliver, *account_jobs))


def record_session(**options: Any) -> None:
    from storage.accounts.sessions import record_session  # the models are not loaded yet

    record_session(**options)


def after_migrating(**options: Any) -> None:
    from storage.tenancy.distribution import after_migrating  # the models are not loaded yet

    after_migrating(**options)
