"""Which endpoints of a tenant get an event: compiled once for each version of the set."""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from postroad.model.endpoint import EndpointEntry, EndpointSet, EndpointSpec
from postroad.model.entities import order_group_of
from postroad.model.errors import BadFilter
from postroad.model.event import TEST_CHANNEL, EventTarget
from postroad.model.filters import Test, compiled

SPEC = msgspec.json.Decoder(EndpointSpec)


class Candidate(Struct, frozen=True):
    """An endpoint that gets events of a type, if their channels and bodies match."""

    id: int
    target: EventTarget
    channels: frozenset[str]
    test: Test | None
    until_ms: int
    """When it expires."""


class Matcher:
    """The endpoints of a set by the event types that they get."""

    def __init__(self, found: EndpointSet) -> None:
        self.version = found.version
        self._by_type: dict[str, list[Candidate]] = {}
        for entry in found.endpoints:
            spec = SPEC.decode(entry.row.spec)
            one = _candidate(entry, spec)
            for name in spec.types or ("*",):
                self._by_type.setdefault(name, []).append(one)

    def match(
        self, type_name: str, channels: frozenset[str], body: Callable[[], object], now_ms: int
    ) -> tuple[EventTarget, ...]:
        """The endpoints that get an event, in order of id. Its body is asked for only if a filter
        needs it. Test events have been sent to theirs."""
        if TEST_CHANNEL in channels:
            return ()
        found: dict[int, EventTarget] = {}
        for pattern in patterns(type_name):
            for one in self._by_type.get(pattern, ()):
                if one.channels and one.channels.isdisjoint(channels):
                    continue
                if one.until_ms <= now_ms:
                    continue
                if one.test is None or one.test(body()):
                    found[one.id] = one.target
        return tuple(found[number] for number in sorted(found))


def target_of(entry: EndpointEntry) -> EventTarget:
    """Where the messages of an endpoint go."""
    return EventTarget(entry.row.queue, entry.lane, order_group_of(entry.policy, ""))


def _candidate(entry: EndpointEntry, spec: EndpointSpec) -> Candidate:
    row, target = entry.row, target_of(entry)
    test: Test | None = None
    if spec.filter is not None:
        try:
            test = compiled(spec.filter)
        except BadFilter:  # of another release, say: the endpoint tells it as its fault
            test = _nothing
    return Candidate(row.id, target, frozenset(spec.channels), test, row.expires_at_ms)


def _nothing(_body: object) -> bool:
    return False


def unknown_types(wanted: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Those of an endpoint's types that fit none of these event types."""
    fitting = {pattern for name in known for pattern in patterns(name)}
    return tuple(each for each in wanted if each not in fitting)


def patterns(name: str) -> Iterator[str]:
    """The patterns that match a type: itself, `order.*` for `order.paid`, and `*`."""
    yield name
    yield "*"
    end = name.rfind(".")
    while end > 0:
        yield f"{name[:end]}.*"
        end = name.rfind(".", 0, end)
