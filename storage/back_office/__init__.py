"""The two back offices, one for the site and one inside each storage. Apps register their pages with them."""

from storage.back_office.model_admin import StorageModelAdmin
from storage.back_office.navigation import NavigationEntry, NavigationGroup
from storage.back_office.sites import site_office, storage_office

__all__ = ["NavigationEntry", "NavigationGroup", "StorageModelAdmin", "site_office", "storage_office"]
