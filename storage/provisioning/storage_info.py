"""StorageInfo (operation 16) of the three contexts."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from storage.localisation.cultures import CultureSet
from storage.localisation.regions import region_info
from storage.localisation.time_zones import time_zone_info
from storage.models import Storage, StorageCollection
from storage.provisioning.templates import load_template
from storage.tenancy.contexts import Context, ContextType

# The site has no row; clients can use this fixed id as its key.
SITE_ID = "00000000-0000-0000-0000-000000000000"


def storage_info(context: Context, base: str) -> dict[str, Any]:
    if context.storage is not None:
        return _of_storage(context.storage, base + context.path)
    return _of_administration(context, base + context.path)


def _of_storage(storage: Storage, address: str) -> dict[str, Any]:
    return {
        "type": ContextType.STORAGE,
        "tenant": str(storage.id),
        "baseTenant": str(storage.base_id or storage.id),
        "title": storage.title,
        "description": storage.description,
        **_addresses(address),
        "template": storage.template,
        **_culture_fields(storage.culture_set()),
        "isValid": storage.is_valid,
        "region": region_info(storage.region),
        "timeZone": time_zone_info(storage.time_zone),
    }


def _of_administration(context: Context, address: str) -> dict[str, Any]:
    """Return the info of an administrative context, with the installation's defaults for new storages."""
    collection: StorageCollection | None = context.collection
    identity = SITE_ID if collection is None else str(collection.id)
    standard = load_template("standard")
    return {
        "type": context.type,
        "tenant": identity,
        "baseTenant": identity,
        "title": "Administration" if collection is None else collection.title,
        "description": "" if collection is None else collection.description,
        **_addresses(address),
        "template": standard.name,
        **_culture_fields(standard.cultures),
        "isValid": True,
        "region": region_info(settings.DEFAULT_REGION),
        "timeZone": time_zone_info(settings.DEFAULT_TIME_ZONE),
    }


def _addresses(address: str) -> dict[str, str]:
    return {"apiUrl": f"{address}/_api/", "appUrl": f"{address}/"}


def _culture_fields(cultures: CultureSet) -> dict[str, Any]:
    return {
        "dataCultures": list(cultures.data),
        "defaultDataCulture": cultures.default,
        "mandatoryCultures": list(cultures.mandatory),
        "optionalCultures": list(cultures.optional),
    }
