from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from facets.extension import FacetsExtension
    from storage.extension import StorageExtension


class ElementsConfig(AppConfig):
    name = "elements"
    verbose_name = _("Content")

    def ready(self) -> None:
        from facets.extension import facets_extensions
        from storage.extension import storage_extensions

        storage_extensions.register(storage_extension)
        facets_extensions.register(facets_extension)


def storage_extension() -> StorageExtension:
    from elements.bulk.runs import forget_old_runs, run_bulk
    from elements.cultures.clearing import clear_culture
    from elements.models import (
        ContentMark,
        Element,
        ElementChange,
        ElementVersion,
        Reference,
        SearchDocument,
        SearchFile,
        SearchPosting,
        SearchWord,
        Shape,
        StructureMark,
        TableImport,
        VersionName,
    )
    from elements.people.administration import user_directory
    from elements.people.token_elements import mirror_token
    from elements.permission_sets.callers import limits_of
    from elements.reading.announced import show_versions
    from elements.sizes.counted_files import COUNT_FILES
    from elements.sizes.limits import content_over_limits
    from elements.tables.kept_imports import forget_old_imports, run_import
    from elements.users import find_user, find_users
    from storage.extension import StorageExtension

    return StorageExtension(
        find_user=find_user,
        limits_of=limits_of,
        find_users=find_users,
        user_directory=user_directory,
        mirror_token=mirror_token,
        counted_models={
            "elements": Element,
            "versions": ElementVersion,
            "references": Reference,
            "shapes": Shape,
            "history": ElementChange,
        },
        count_files=COUNT_FILES,
        uses_of_file="SELECT FROM elements_versionfile u WHERE u.file_id = f.id",
        over_limits=content_over_limits,
        show_versions=show_versions,
        jobs=(run_bulk, forget_old_runs, clear_culture, run_import, forget_old_imports),
        derived_models=(
            ContentMark,
            StructureMark,
            VersionName,
            SearchDocument,
            SearchFile,
            SearchPosting,
            SearchWord,
            TableImport,
        ),
    )


def facets_extension() -> FacetsExtension:
    from elements.usage import describe_use
    from elements.writing.limiting import replace_sets
    from facets.extension import FacetsExtension

    return FacetsExtension(describe_use=describe_use, replace_sets=replace_sets)
