from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage"

    def ready(self) -> None:
        from storage import checks  # noqa: F401  registers the system checks
