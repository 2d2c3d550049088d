"""The resources of SCIM: models of scim2-models with the attributes that the service stores, and what it supports."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from scim2_models import (
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Extension,
    Filter,
    Mutability,
    Name,
    Patch,
    Reference,
    Required,
    Resource,
    ResourceType,
    Schema,
    ScimPolicy,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)
from scim2_models import Group as AnyGroup
from scim2_models import User as AnyUser
from scim2_models.urn import URN

from storage.single_sign_on.directory import ENTERPRISE

MOST_OPERATIONS = 100
LARGEST_PAGE = 200

# Directories send attributes that are not stored here, and Entra ID deviates from the specification.
POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)


class MailAddress(ComplexAttribute):
    value: str | None = None
    """Mail address of the person."""

    display: str | None = None
    """Name for display."""

    type: str | None = Field(None, examples=["work", "home", "other"])
    """Use of the address, such as 'work'."""

    primary: bool | None = None
    """Whether this is the preferred address."""


class GroupOfUser(ComplexAttribute):
    value: Annotated[str | None, Mutability.read_only, CaseExact.true] = None
    """Id of the group."""

    ref: Annotated[Reference[AnyGroup] | None, Mutability.read_only] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    """Address of the group."""

    display: Annotated[str | None, Mutability.read_only] = None
    """Name of the group."""


class ScimUser(Resource[Any]):
    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Required.true, Uniqueness.server] = None
    """Name of the person at the directory; unique, without regard to letter case."""

    name: Name | None = None
    """Parts of the name."""

    display_name: str | None = None
    """Name for display."""

    title: str | None = None
    """Title, such as 'Head of quality'."""

    user_type: str | None = None
    """Relation to the organisation, such as 'Employee'."""

    preferred_language: str | None = None
    """Preferred language, such as 'de-DE'."""

    active: bool | None = None
    """Whether the person has access."""

    emails: list[MailAddress] | None = None
    """Mail addresses. The primary one, else the first one, decides about the account."""

    groups: Annotated[list[GroupOfUser] | None, Mutability.read_only] = None
    """Groups of the person."""


class Member(ComplexAttribute):
    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    """Id of the person."""

    ref: Annotated[Reference[AnyUser[Any]] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    """Address of the person."""

    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])
    """Always 'User': groups contain no groups."""


class ScimGroup(Resource[Any]):
    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    """Name of the group, which rules compare."""

    members: list[Member] | None = None
    """People in the group."""


class EnterpriseUser(Extension):
    __schema__ = URN(ENTERPRISE)

    employee_number: str | None = None
    """Number of the person in the organisation."""

    cost_center: str | None = None
    """Cost center."""

    organization: str | None = None
    """Organisation."""

    division: str | None = None
    """Division."""

    department: str | None = None
    """Department."""


Person = ScimUser[EnterpriseUser]  # type: ignore[type-arg]  # the class of scim2-models takes extensions this way
ENDPOINTS: dict[str, type[Resource[Any]]] = {"Users": Person, "Groups": ScimGroup}


def service_config(longest_body: int) -> ServiceProviderConfig:
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=True, max_operations=MOST_OPERATIONS, max_payload_size=longest_body),
        filter=Filter(supported=True, max_results=LARGEST_PAGE),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=True),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="A SCIM token that an administrator has issued for the identity provider.",
                primary=True,
            )
        ],
    )


def resource_types() -> list[ResourceType]:
    return [ResourceType.from_resource(model) for model in ENDPOINTS.values()]


def schemas() -> list[Schema]:
    found = [model.to_schema() for model in (ScimUser, EnterpriseUser, ScimGroup)]
    for each in found:
        each.name = each.description = str(each.name).removeprefix("Scim")
    return found
