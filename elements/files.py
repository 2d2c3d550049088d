"""Files in the attributes of a storage, for its measurement."""

from __future__ import annotations

from facets.blueprint.data_types import DataType
from facets.configuration import configuration_of
from repository_site.core.database.statements import fetch
from storage.models import Storage


def count_files(storage: Storage) -> int:
    """Count files in all versions. Without an attribute for files nothing is read."""
    types = configuration_of(storage).types.values()
    properties = [each for type in types for each in type.properties if each.attribute]
    if not any(each.attribute and each.attribute.data_type is DataType.FILES for each in properties):
        return 0
    return int(fetch("SELECT coalesce(sum(elements_count_files(attributes)), 0) FROM elements_elementversion")[0][0])
