"""Django's template backend, which leaves no reference cycles (D211)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates, Template, reraise
from django.template.context import make_context


class CycleFreeTemplates(DjangoTemplates):
    def from_string(self, template_code: str) -> CycleFreeTemplate:
        return CycleFreeTemplate(self.engine.from_string(template_code), self)

    def get_template(self, template_name: str) -> CycleFreeTemplate:
        try:
            return CycleFreeTemplate(self.engine.get_template(template_name), self)
        except TemplateDoesNotExist as problem:
            reraise(problem, self)
            raise


class CycleFreeTemplate(Template):
    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> Any:
        """Do the same as Django, and empty the context afterwards.

        Parts of a context refer to it. It has the request and everything that a page shows.
        """
        made = make_context(context, request, autoescape=self.backend.engine.autoescape)
        try:
            return self.template.render(made)
        except TemplateDoesNotExist as problem:
            reraise(problem, self.backend)
            raise
        finally:
            made.dicts.clear()
