"""The type configuration of a storage as rows; `facets/configuration.py` compiles it for hot paths."""

from facets.models.cycles import CycleState, ReleaseCycle, Transition, ValidationRule
from facets.models.facet_views import Layout, ViewLayout, ViewProperty, ViewType
from facets.models.facets import Facet, FacetView
from facets.models.permission_sets import PermissionSet
from facets.models.properties import Property, RelatedType, SelectableValue
from facets.models.types import AllowedParent, ElementType, InsertableType

__all__ = [
    "AllowedParent",
    "CycleState",
    "ElementType",
    "Facet",
    "FacetView",
    "InsertableType",
    "Layout",
    "PermissionSet",
    "Property",
    "RelatedType",
    "ReleaseCycle",
    "SelectableValue",
    "Transition",
    "ValidationRule",
    "ViewLayout",
    "ViewProperty",
    "ViewType",
]
