"""Test events: one event, marked as a test, for one endpoint alone."""

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.endpoint import (
    ENABLED,
    OPERATOR,
    EndpointEntry,
    EndpointSpec,
    check_type,
    endpoint_id,
)
from postroad.model.endpoint_life import EndpointDisabled, LifeEvent
from postroad.model.errors import BadInput, Overloaded, SchemaMismatch
from postroad.model.event import (
    TEST_CHANNEL,
    TEST_HEADER,
    Publish,
    Published,
    event_id,
    message_ids,
)
from postroad.model.event_types import EventTypes
from postroad.model.matching import SPEC, patterns, target_of
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.verbs.endpoint_life import Find
from postroad.verbs.event_samples import sample
from postroad.verbs.event_stores import event_store
from postroad.verbs.event_types import Catalogue
from postroad.verbs.events import AGAIN_MAX, Asked, EventVerbs, problems_of
from postroad.verbs.sending import Sending

MARKED: Final = {TEST_HEADER: "true"}
PLAIN: Final = {"test": True}
"""The body of a type without a schema."""
MOVED: Final = Published(moved=True)


class SentTest(Struct, frozen=True):
    """A test event that is stored, and the message that carries it to its endpoint."""

    event: str
    type: str
    message: str
    problems: tuple[str, ...] = ()
    """How its body does not fit the schema of its type, which only warns."""


class EndpointTests(EventVerbs):
    """Publishes test events."""

    def __init__(self, store: Store, sending: Sending, log: Log) -> None:
        super().__init__(store, sending, sending.allowance, log)

    async def send(self, find: Find, type_name: str) -> SentTest:
        """Store an event for one endpoint, whatever its channels and filter are."""
        _ = self._sending.taking()  # whether the road is open
        for _again in range(AGAIN_MAX):
            entry = await find()
            catalogue = Catalogue(await event_store(self._store).event_types())
            _check(entry)
            tenant = entry.row.tenant
            self._allowance.sends((tenant,))
            theirs = _no_types(catalogue) if tenant == OPERATOR else catalogue
            name = check_type(type_name) if type_name else _first_type(entry, theirs)
            made, problems = await self._for_one(entry, theirs, name)
            said = await event_store(self._store).publish(made) if made.targets else MOVED
            if not said.moved:
                (message,) = message_ids(made.event.first, 1)
                return SentTest(event_id(made.event.id), name, message, problems)
            self._forget(tenant)
        raise Overloaded("the endpoints change all the time: nothing was stored; test it again")

    async def _for_one(
        self, entry: EndpointEntry, catalogue: Catalogue, name: str
    ) -> tuple[Publish, tuple[str, ...]]:
        """The event for one endpoint, of the version of the set that was read with it."""
        body = _body(catalogue, name)
        asked = self._asked(name, body, entry.row.tenant, None, ())
        problems = _problems(catalogue, asked)
        found = await event_store(self._store).endpoint_set(entry.row.tenant)
        targets = tuple(target_of(one) for one in found.endpoints if one.row.id == entry.row.id)
        asked = replace(asked, channels=(TEST_CHANNEL,))
        return self._made(asked, targets, MARKED, (found.version, catalogue.version)), problems


def _check(entry: EndpointEntry) -> None:
    """Refuse an endpoint that nothing is sent to."""
    life, name = entry.row.life, endpoint_id(entry.row.id)
    if life.state != ENABLED:
        by = f" by {life.disabled_by}" if life.disabled_by else ""
        raise EndpointDisabled(f"{name} is {life.state}{by}: nothing was sent; enable it first")
    if entry.gone:
        raise EndpointDisabled(f"{name} asked never to be called again: nothing was sent")


def _body(catalogue: Catalogue, name: str) -> Any:
    kind = catalogue.types.get(name)
    return PLAIN if kind is None or kind.schema is None else sample(kind.schema)


def _problems(catalogue: Catalogue, asked: Asked) -> tuple[str, ...]:
    try:
        return problems_of(catalogue, asked)
    except SchemaMismatch as error:
        raise SchemaMismatch(
            f"no test body could be made for {asked.type!r}: put one under `examples` of its "
            f"schema ({error})"
        ) from None


def _no_types(catalogue: Catalogue) -> Catalogue:
    """Operational events are of no type that the road names."""
    return Catalogue(EventTypes(catalogue.version, []))


def _first_type(entry: EndpointEntry, catalogue: Catalogue) -> str:
    """The first type that an endpoint gets; one is made up where the road names none."""
    spec = SPEC.decode(entry.row.spec)
    if entry.row.tenant == OPERATOR:
        return _of(spec, [str(each) for each in LifeEvent], entry)
    if catalogue.types:
        used = [name for name, kind in catalogue.types.items() if not kind.archived]
        return _of(spec, sorted(used), entry)
    first = spec.types[0] if spec.types else "*"
    return first.replace("*", "test")


def _of(spec: EndpointSpec, names: list[str], entry: EndpointEntry) -> str:
    wanted = set(spec.types or ("*",))
    for name in names:
        if not wanted.isdisjoint(patterns(name)):
            return name
    raise BadInput(f"{endpoint_id(entry.row.id)} gets none of the event types: say which one")
