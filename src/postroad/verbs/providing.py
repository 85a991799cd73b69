"""Providing: what handlers get by the type of a parameter, opened and closed with the run."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

from postroad.model.errors import BadInput
from postroad.transports.job import named

Factory = Callable[[], Any]


class Providers:
    """The factories of a road, and, while it runs, what they made."""

    def __init__(self) -> None:
        self.factories: dict[Any, Factory] = {}
        self._adopted: list[Providers] = []
        self.values: dict[Any, Any] = {}
        """What handlers get, by type; before the run, which types there are."""
        self.bodies: set[Any] = set()
        """Types that handlers take as bodies."""

    def add(self, kind: type, factory: Factory) -> None:
        """Have handlers' parameters of this type get what the factory gives, plain or async, a
        generator or a context manager: once for each run, which closes it."""
        if not isinstance(kind, type):
            raise BadInput(
                f"provide({kind!r}, …): give a class, which parameters are annotated with"
            )
        if not callable(factory):
            raise BadInput(
                f"provide({named(kind)}, {factory!r:.60}): give a function that makes one, as "
                f"provide({named(kind)}, lambda: it)"
            )
        if kind in self.bodies:
            raise BadInput(
                f"{named(kind)} is the body of a handler that is registered already: provide it "
                "before that handler"
            )
        self.factories[kind] = factory
        self.values[kind] = None

    def adopt(self, other: "Providers") -> None:
        """Open what another road provides together with this one's; its own ones go first."""
        self._adopted.append(other)

    def check(self, handler: str, wanted: dict[str, Any]) -> None:
        """Raise BadInput for a parameter that nobody can give."""
        known = [self, *self._adopted]
        for parameter, kind in wanted.items():
            if not any(kind in one.values for one in known):
                raise BadInput(
                    f"handler {handler!r}: {parameter}: {named(kind)} cannot be read from JSON, "
                    f"and is not provided: register it with road.provide({named(kind)}, factory)"
                )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Make everything, and close it at the end, the last one first."""
        async with AsyncExitStack() as stack:
            made: dict[Any, Any] = {}
            for one in (self, *self._adopted):
                for kind in one.values:
                    if kind not in made:
                        factory = self.factories.get(kind) or one.factories[kind]
                        made[kind] = await _make(factory, stack)
                    one.values[kind] = made[kind]
            yield


async def _make(factory: Factory, stack: AsyncExitStack) -> Any:
    """Call a factory. Generators and context managers are entered, and left with the stack."""
    if inspect.isasyncgenfunction(factory):
        factory = asynccontextmanager(factory)
    elif inspect.isgeneratorfunction(factory):
        factory = contextmanager(factory)
    made = factory()
    if isinstance(made, AbstractAsyncContextManager):
        return await stack.enter_async_context(made)
    if isinstance(made, Awaitable):
        return await made
    return stack.enter_context(made) if isinstance(made, AbstractContextManager) else made
