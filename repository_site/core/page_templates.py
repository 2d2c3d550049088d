"""Django's template backend, which leaves no reference cycles (D211), and a renderer of widgets (D654)."""

from __future__ import annotations

from html import escape
from typing import Any

from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates, Template, reraise
from django.template.context import make_context
from django.utils.safestring import SafeString, mark_safe

# Django's templates that render one <input>.
INPUTS = frozenset(
    f"django/forms/widgets/{kind}.html" for kind in ("checkbox", "email", "hidden", "number", "password", "text", "url")
)
# Keys of a widget for what the text field of unfold shows beside its input.
ADDITIONS = frozenset(("prefix", "prefix_icon", "suffix", "suffix_icon"))
DESCRIBED = "aria-describedby"


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


class WidgetRenderer(TemplatesSetting):
    """Writes inputs without templates, and other widgets with them. A form can have hundreds of inputs, and Django
    includes two templates for each."""

    def render(self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None) -> Any:
        widget = context.get("widget", {})
        if template_name in INPUTS:
            return _input(widget)
        if template_name == "unfold/widgets/text.html" and ADDITIONS.isdisjoint(widget):
            return mark_safe(f'<div class="max-w-2xl relative w-full">{_input(widget)}</div>')  # noqa: S308  # values were escaped
        return super().render(template_name, context, request)


def _input(widget: dict[str, Any]) -> SafeString:
    """Write an input as Django's template does."""
    value = {} if widget["value"] is None else {"value": str(widget["value"])}
    attributes = {"type": widget["type"], "name": widget["name"], **value, **widget["attrs"]}
    return mark_safe(f"<input{written_attributes(attributes)}>")  # noqa: S308  # values were escaped


def written_attributes(attributes: dict[str, Any]) -> SafeString:
    """Write attributes as Django's template does."""
    shown = (
        f" {name}" if value is True else f' {name}="{_escaped(value)}"'
        for name, value in attributes.items()
        if value is not False
    )
    return mark_safe("".join(shown))  # noqa: S308  # values were escaped


def written_description(attributes: dict[str, Any]) -> SafeString:
    """Write the attribute of a widget that refers to its help text and its errors, if it has one."""
    return written_attributes({DESCRIBED: attributes[DESCRIBED]} if DESCRIBED in attributes else {})


def _escaped(value: Any) -> str:
    """Escape like `conditional_escape`, but without its slower checks."""
    text = str(value)
    return text if isinstance(text, SafeString) else escape(text)
