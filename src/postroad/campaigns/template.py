"""Templates: sandboxed Jinja2 with columns, some filters and `if`, without loops and calls."""

from collections.abc import Mapping
from operator import itemgetter
from types import TracebackType
from typing import Final

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from postroad.model.campaign import BadTemplate
from postroad.model.foreign import error_text
from postroad.model.near_names import nearest
from postroad.model.texts import TEMPLATE_MAX

RENDERED_CHARACTERS_MAX: Final = 100_000
"""Maximum length of one message. A column that is named 4,000 times would make 40 MB of a long
cell, and a thousand recipients are rendered ahead."""
IFS_MAX: Final = 20
WORDS_MAX: Final = 50
"""Maximum words of one expression: the parser calls itself a dozen times for each bracket in it."""
NUMBER_CHARACTERS_MAX: Final = 20
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
BEGINS: Final = ("variable_begin", "block_begin")
NAME: Final = "<template>"
"""What Jinja2 calls a template that came from a text, in traces."""


def _or_else(value: str, other: str = "") -> str:
    """Replace an empty cell: a cell is never undefined."""
    return value or other


JINJA: Final = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
)
JINJA.filters = {name: JINJA.filters[name] for name in FILTERS} | {"default": _or_else}
JINJA.globals.clear()
ESCAPING: Final = JINJA.overlay(autoescape=True)
"""For HTML: what a cell holds is text."""


class _Wrong(Exception):
    """What is wrong with a template, and in which line."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


class Template:
    """A template that has been parsed and checked."""

    def __init__(self, text: str, part: str = "text") -> None:
        self._what = what = "template" if part == "text" else part
        if not text.strip():
            raise BadTemplate(f"the {what} is empty")
        if len(text) > TEMPLATE_MAX:
            raise BadTemplate(f"the {what} has over {TEMPLATE_MAX} characters")
        try:
            _measure(text)
            parsed = JINJA.parse(text)
            _check(parsed)
            self._compiled = (ESCAPING if part == "html" else JINJA).from_string(text)
            self.variables = _variables(parsed)
        except _Wrong as error:
            raise BadTemplate(f"{what} line {error.line}: {error.why}") from None
        except TemplateSyntaxError as error:
            raise BadTemplate(f"{what} line {error.lineno}: {error.message}") from None
        except (RecursionError, MemoryError, SyntaxError):  # of Python's compiler, too
            raise BadTemplate(f"{what} line 1 or later: nested too deep: nest less") from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            why = error_text(error)
            raise BadTemplate(f"{what} line 1 or later: it cannot be read: {why}") from None

    def check(self, columns: tuple[str, ...]) -> None:
        """Raise BadTemplate if a variable is not a column."""
        missing = [name for name in self.variables if name not in columns]
        if missing:
            first = missing[0]
            near = nearest(first, columns)
            others = f" (nor {', '.join(missing[1:])})" if missing[1:] else ""
            have = ", ".join(columns) or "none"
            raise BadTemplate(
                f"{self._what} line {self.variables[first]}: there is no column {first!r}{others}"
                f"{near}; the columns are: {have}"
            )

    def render(self, values: Mapping[str, str]) -> str:
        """Render the text for one recipient."""
        parts, size = list[str](), 0
        try:
            for part in self._compiled.generate(values):
                parts.append(part)
                size += len(part)
                if size > RENDERED_CHARACTERS_MAX:
                    break
        except Exception as error:  # noqa: BLE001 - whatever it does is the template's fault
            where, why = _line_of(error.__traceback__), error_text(error)
            raise BadTemplate(f"{self._what} line {where}: it cannot be filled in: {why}") from None
        if size > RENDERED_CHARACTERS_MAX:
            raise BadTemplate(f"the message has over {RENDERED_CHARACTERS_MAX} characters")
        return "".join(parts)


def _variables(parsed: nodes.Template) -> dict[str, int]:
    """The columns that a template asks for, each with the first line that does."""
    found: dict[str, int] = {}
    for node in parsed.find_all(nodes.Name):
        found.setdefault(node.name, node.lineno)
    return dict(sorted(found.items(), key=itemgetter(1)))


def _line_of(trace: TracebackType | None) -> int:
    """The line of the template in which something was raised."""
    line = 1
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == NAME else line
        trace = trace.tb_next
    return line


def _measure(text: str) -> None:
    """Refuse, with its line, what is nested too deep or too long to parse."""
    nested = words = 0
    before = ""
    for line, kind, word in JINJA.lex(text):
        if kind == "whitespace":
            continue
        words = 0 if kind in BEGINS else words + 1
        if before == "block_begin" and word in ("if", "endif"):
            nested += 1 if word == "if" else -1
        before = kind
        if nested > IFS_MAX:
            raise _Wrong(line, f"over {IFS_MAX} `if` in one another")
        if words > WORDS_MAX:
            raise _Wrong(line, f"over {WORDS_MAX} words in one expression")
        if kind in ("integer", "float") and len(word) > NUMBER_CHARACTERS_MAX:
            raise _Wrong(line, "a number of over 20 digits")


def _check(node: nodes.Node, depth: int = 0) -> None:
    depth += isinstance(node, nodes.Expr)
    if depth > NESTED_MAX:
        raise _Wrong(node.lineno, f"nested over {NESTED_MAX} deep: nest less")
    if not isinstance(node, ALLOWED):
        what = type(node).__name__.lower()
        raise _Wrong(
            node.lineno,
            f"{what} is not allowed: use {{{{ column }}}}, {{{{ column | filter }}}} and "
            "{% if column == 'x' %} … {% endif %}",
        )
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        raise _Wrong(node.lineno, f"no filter {node.name!r}: there are {', '.join(FILTERS)}")
    for inner in node.iter_child_nodes():
        _check(inner, depth)
