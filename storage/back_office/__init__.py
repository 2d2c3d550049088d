"""The two back offices: one for the site, one inside each storage. Apps register what they have with these."""

from storage.back_office.model_admin import StorageModelAdmin
from storage.back_office.navigation import Entry, Group
from storage.back_office.sites import site_office, storage_office

__all__ = ["Entry", "Group", "StorageModelAdmin", "site_office", "storage_office"]
