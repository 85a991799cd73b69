"""Templates: Jinja2 in its sandbox, with columns, some filters and `if`; nothing loops or calls."""

from collections.abc import Mapping
from typing import Final

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from postroad.model.errors import BadInput
from postroad.model.texts import TEMPLATE_MAX

NESTED_MAX: Final = 12
"""Filters, `not`, `or` and so on within each other. Jinja2 compiles them in cubic time: 2,000
characters of filters took 14 s."""
FILTERS: Final = ("capitalize", "default", "lower", "title", "trim", "upper")
# The sandbox bounds what a template may touch, this how long it takes: two nested loops would
# take minutes for each of a million recipients.
ALLOWED: Final = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Filter),
    *(nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
)


class BadTemplate(BadInput):
    """The template cannot be used; its place and what to write instead are said."""


def _or_else(value: str, other: str = "") -> str:
    """A cell of a table is never undefined, but often empty."""
    return value or other


JINJA: Final = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
)
JINJA.filters = {name: JINJA.filters[name] for name in FILTERS} | {"default": _or_else}
JINJA.globals.clear()


class Template:
    """A template that has been read."""

    def __init__(self, text: str) -> None:
        if not text.strip():
            raise BadTemplate("the template is empty")
        if len(text) > TEMPLATE_MAX:
            raise BadTemplate(f"the template has over {TEMPLATE_MAX} characters")
        self.text = text
        try:
            parsed = JINJA.parse(text)
            _check(parsed)
            self._compiled = JINJA.from_string(text)
            self.variables = frozenset(meta.find_undeclared_variables(parsed))
        except TemplateSyntaxError as error:
            raise BadTemplate(f"template line {error.lineno}: {error.message}") from None
        except (RecursionError, MemoryError, SyntaxError):  # of Python's compiler, too
            raise BadTemplate("the template is nested too deep: nest less") from None
        except (ValueError, OverflowError) as error:  # a number of thousands of digits
            raise BadTemplate(f"the template cannot be read: {str(error)[:200]}") from None

    def check(self, columns: tuple[str, ...]) -> None:
        """Whether every variable is a column."""
        missing = sorted(self.variables - set(columns))
        if missing:
            have = ", ".join(columns) or "none"
            raise BadTemplate(
                f"the template asks for {', '.join(missing)}; the columns are: {have}"
            )

    def render(self, values: Mapping[str, str]) -> str:
        """The text for one recipient."""
        try:
            return self._compiled.render(values)
        except (TemplateError, TypeError, ValueError) as error:
            raise BadTemplate(f"the template cannot be filled in: {error}") from None


def _check(node: nodes.Node, depth: int = 0) -> None:
    depth += isinstance(node, nodes.Expr)
    if depth > NESTED_MAX:
        raise BadTemplate(f"template line {node.lineno}: nested over {NESTED_MAX} deep: nest less")
    if not isinstance(node, ALLOWED):
        what = type(node).__name__.lower()
        raise BadTemplate(
            f"template line {node.lineno}: {what} is not allowed: use {{{{ column }}}}, "
            "{{ column | filter }} and {% if column == 'x' %} … {% endif %}"
        )
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        raise BadTemplate(
            f"template line {node.lineno}: no filter {node.name!r}: there are {', '.join(FILTERS)}"
        )
    for inner in node.iter_child_nodes():
        _check(inner, depth)
