"""Elements, their versions, references and diagrams."""

from elements.models.changes import ElementChange
from elements.models.diagrams import Shape, ShapeFlow
from elements.models.elements import Element, ElementVersion
from elements.models.marks import ContentMark
from elements.models.names import VersionName
from elements.models.people import User, UserGroup
from elements.models.references import Reference

__all__ = [
    "ContentMark", "Element", "ElementChange", "ElementVersion", "Reference", "Shape", "ShapeFlow", "User", "UserGroup",
    "VersionName",
]  # fmt: skip
