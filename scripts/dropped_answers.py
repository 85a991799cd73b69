"""A plugin of mypy: in `src` an answer is used, or visibly put away with `_ = …`.

A refusal may come as a value: False, a list of what went wrong, an outcome. A statement that drops
it looks like success; a receipt was once given so for a message that nobody had. Libraries refuse
by raising, so that answers of our own functions count, and what a future or a library's wrapper
carries of them."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from mypy.errorcodes import ErrorCode
from mypy.nodes import AwaitExpr, CallExpr, Context, IndexExpr, MemberExpr, SuperExpr
from mypy.options import Options
from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.plugins.default import DefaultPlugin
from mypy.types import (
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    UninhabitedType,
    get_proper_type,
)

ROOM: Final = "postroad"
DROPPED: Final = ErrorCode("dropped-answer", "An answer is neither used nor put away", "General")
CARRIERS: Final = frozenset(
    {
        "_asyncio.Future.result",
        "_asyncio.Task.result",
        "asyncio.runners.Runner.run",
        "asyncio.runners.run",
        "asyncio.tasks.gather",
        "asyncio.tasks.shield",
        "asyncio.tasks.wait_for",
        "asyncio.threads.to_thread",
        "concurrent.futures._base.Future.result",
        "functools._lru_cache_wrapper.__call__",
        "functools.partial.__call__",
    }
)
"""Functions of libraries that hand on what ours answer."""
C = TypeVar("C", FunctionContext, MethodContext)
Place = tuple[int, int, int]
"""Line, column, and of how many calls, names and indices it is made: `a.b()` begins where
`a.b().c()` does."""


class DroppedAnswers(Plugin):
    """Looks at each call and each await that is a statement of its own."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        # The first plugin that has a hook for a function is the only one that is asked.
        self._default = DefaultPlugin(options)
        self._path = ""
        self._statements: set[Place] = set()
        self._foreign: set[Place] = set()

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type]:
        """Called for each function that is called."""
        return partial(self._called, fullname, self._default.get_function_hook(fullname))

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type]:
        """Called for each method that is called; an await calls `__await__`."""
        if fullname.endswith(".__await__"):
            return self._awaited
        return partial(self._called, fullname, self._default.get_method_hook(fullname))

    def _called(self, fullname: str, default: Callable[[C], Type] | None, asked: C) -> Type:
        answer = default(asked) if default else asked.default_return_type
        self._open(asked)
        if _is_foreign(fullname):
            self._foreign.add(_place(asked.context))
        else:
            self._look(asked, answer)
        return answer

    def _awaited(self, asked: MethodContext) -> Type:
        self._open(asked)
        made = get_proper_type(asked.default_return_type)
        if (
            isinstance(asked.context, AwaitExpr)
            and _place(asked.context.expr) not in self._foreign
            and isinstance(made, Instance)
            and len(made.args) == 3  # a generator's: what it yields, takes and returns
        ):
            self._look(asked, made.args[2])
        return asked.default_return_type

    def _open(self, asked: FunctionContext | MethodContext) -> None:
        api: Any = asked.api  # its interface does not tell which file it checks
        if self._path != api.path:
            ours = api.tree.fullname.split(".")[0] == ROOM
            self._path = api.path
            self._foreign = set()
            self._statements = set(_statements(Path(api.path))) if ours else set()

    def _look(self, asked: FunctionContext | MethodContext, answer: Type) -> None:
        if _place(asked.context) in self._statements and not _is_empty(answer):
            asked.api.fail(
                f"This answer is dropped: {answer}. Use it, or write `_ = …` and why",
                asked.context,
                code=DROPPED,
            )


def _statements(path: Path) -> Iterator[Place]:
    """Where calls and awaits are whose answer goes nowhere. mypy's own trees cannot be walked from
    outside; those of `ast` have the same places, but for ends behind letters of many bytes."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            inner: ast.expr = node.value
            steps = 0
            while isinstance(inner, ast.Call | ast.Attribute | ast.Subscript):
                inner = inner.func if isinstance(inner, ast.Call) else inner.value
                steps += 1
            yield node.value.lineno, node.value.col_offset, steps


def _place(node: Context) -> Place:
    inner, steps = node, 0
    while True:
        match inner:
            case CallExpr():
                inner = inner.callee
            case MemberExpr():
                inner = inner.expr
            case IndexExpr():
                inner = inner.base
            case SuperExpr():
                inner = inner.call
            case _:
                return node.line, node.column, steps
        steps += 1


def _is_foreign(fullname: str) -> bool:
    room, dot, _ = fullname.partition(".")  # a local name has no dot
    return bool(dot) and room != ROOM and fullname not in CARRIERS


def _is_empty(answer: Type) -> bool:
    """Whether it has one value alone, so that nothing is said by it."""
    proper = get_proper_type(answer)
    if isinstance(proper, TupleType):
        return all(map(_is_empty, proper.items))
    if isinstance(proper, Instance) and proper.type.fullname == "builtins.list":
        return all(map(_is_empty, proper.args))
    return isinstance(proper, NoneType | UninhabitedType | LiteralType)


def plugin(_version: str) -> type[Plugin]:
    """What mypy asks for."""
    return DroppedAnswers
