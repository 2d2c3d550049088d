from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ElementsConfig(AppConfig):
    name = "elements"
    verbose_name = _("Content")

    def ready(self) -> None:
        from elements.models import ContentMark, Element, ElementVersion, Reference, Shape, VersionName
        from elements.people.administration import user_directory
        from elements.people.token_elements import mirror_token
        from elements.usage import describe_use
        from elements.users import find_user
        from facets.changing.changes import USE_CHECKS
        from storage.access.callers import set_user_lookup
        from storage.access.tokens import TOKEN_MIRRORS
        from storage.access.user_directory import set_user_directory
        from storage.backup.contents import DERIVED
        from storage.provisioning.sizes import COUNTED

        TOKEN_MIRRORS.append(mirror_token)
        set_user_lookup(find_user)
        set_user_directory(user_directory)
        USE_CHECKS.append(describe_use)
        DERIVED.extend((ContentMark, VersionName))
        COUNTED.update(elements=Element, versions=ElementVersion, references=Reference, shapes=Shape)
