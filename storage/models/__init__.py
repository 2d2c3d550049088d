"""Tables that are read before a tenant scope exists, and the base class of all tables inside one."""

from storage.models.answered_requests import AnsweredRequest
from storage.models.events import Event, EventLog, EventType
from storage.models.files import FileText, StoredFile
from storage.models.identity import (
    AccessRule,
    DirectoryGroup,
    DirectoryMember,
    DirectoryPerson,
    IdentityProvider,
    ProviderSession,
    RuleComparison,
)
from storage.models.invitations import Invitation
from storage.models.jobs import JobFailure, QueuedJob
from storage.models.measurements import LifecycleRun, RequestCount, StorageGrowth, StorageSize, WebhookCount
from storage.models.messages import (
    MailTime,
    Message,
    MessageKind,
    MessageLog,
    OutgoingMail,
    Recipient,
    Subscription,
)
from storage.models.sign_ins import AccountSession, FailedSignIn
from storage.models.staff import StaffAccount, StorageMembership
from storage.models.storages import Culture, Storage, StorageCollection, StorageRevision
from storage.models.tenant import TenantModel
from storage.models.tokens import AgentCalls, ApiToken, TokenAddress, TokenRevocation, TokenState
from storage.models.webhooks import DeliveryState, Webhook, WebhookAttempt, WebhookDelivery, WebhookPayload
from storage.options import AnonymousAccess

__all__ = [
    "AccessRule",
    "AccountSession",
    "AgentCalls",
    "AnonymousAccess",
    "AnsweredRequest",
    "ApiToken",
    "Culture",
    "DeliveryState",
    "DirectoryGroup",
    "DirectoryMember",
    "DirectoryPerson",
    "Event",
    "EventLog",
    "EventType",
    "FailedSignIn",
    "FileText",
    "IdentityProvider",
    "Invitation",
    "JobFailure",
    "LifecycleRun",
    "MailTime",
    "Message",
    "MessageKind",
    "MessageLog",
    "OutgoingMail",
    "ProviderSession",
    "QueuedJob",
    "Recipient",
    "RequestCount",
    "RuleComparison",
    "StaffAccount",
    "Storage",
    "StorageCollection",
    "StorageGrowth",
    "StorageMembership",
    "StorageRevision",
    "StorageSize",
    "StoredFile",
    "Subscription",
    "TenantModel",
    "TokenAddress",
    "TokenRevocation",
    "TokenState",
    "Webhook",
    "WebhookAttempt",
    "WebhookCount",
    "WebhookDelivery",
    "WebhookPayload",
]
