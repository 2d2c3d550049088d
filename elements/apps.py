from django.apps import AppConfig


class ElementsConfig(AppConfig):
    name = "elements"

    def ready(self) -> None:
        from elements.token_elements import mirror_token
        from elements.usage import describe_use
        from elements.users import find_user
        from facets.changes import USE_CHECKS
        from storage.callers import set_user_lookup
        from storage.tokens import TOKEN_MIRRORS

        TOKEN_MIRRORS.append(mirror_token)
        set_user_lookup(find_user)
        USE_CHECKS.append(describe_use)
