"""Tables that are read before a tenant scope exists, and the base class of all tables inside one."""

from storage.models.answered_requests import AnsweredRequest
from storage.models.measurements import LifecycleRun, RequestCount, StorageGrowth, StorageSize
from storage.models.sign_ins import FailedSignIn
from storage.models.staff import StaffAccount, StorageMembership
from storage.models.storages import Culture, Storage, StorageCollection, StorageRevision
from storage.models.tenant import TenantModel
from storage.models.tokens import ApiToken, TokenRevocation, TokenState
from storage.options import AnonymousAccess

__all__ = [
    "AnonymousAccess",
    "AnsweredRequest",
    "ApiToken",
    "Culture",
    "FailedSignIn",
    "LifecycleRun",
    "RequestCount",
    "StaffAccount",
    "Storage",
    "StorageCollection",
    "StorageGrowth",
    "StorageMembership",
    "StorageRevision",
    "StorageSize",
    "TenantModel",
    "TokenRevocation",
    "TokenState",
]
