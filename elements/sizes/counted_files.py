"""Files in the attributes of a storage, for its measurement."""

from __future__ import annotations

from facets.blueprint.data_types import DataType

# Counts the files in all versions of the storage of the scope. Without a property for files it reads no version.
COUNT_FILES = f"""SELECT CASE WHEN EXISTS (SELECT FROM facets_property WHERE data_type = '{DataType.FILES.value}')
    THEN (SELECT coalesce(sum(elements_count_files(attributes)), 0) FROM elements_elementversion) ELSE 0 END"""  # noqa: S608  a constant
