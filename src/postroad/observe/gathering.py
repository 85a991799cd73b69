"""Gathers events that are alike: the first few are logged in full, then only their number."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from postroad.ports.clock import Clock, Timer

WINDOW_S: Final = 10.0
FULL: Final = 5
"""How many of a kind are logged in full within that time."""
KINDS_MAX: Final = 256
"""How many kinds are kept apart at a time: strangers may choose part of what distinguishes them."""
FIRSTS_MAX: Final = 1_000
HOUR_S: Final = 3_600.0

Tell = Callable[..., None]


class _Kind:
    """The lines of one kind since its window began."""

    def __init__(self, tell: Tell, event: str, alike: Mapping[str, object]) -> None:
        self.tell = tell
        self.event = event
        self.alike = alike
        self.told = 0
        self.more = 0
        self.timer: Timer | None = None


class EventGathering:
    """Tells events in full up to a number in ten seconds. When these are over, one line says how
    many more came; while they keep coming, it is one line every ten seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kinds: dict[tuple[object, ...], _Kind] = {}

    def add(
        self,
        tell: Tell,
        event: str,
        alike: Mapping[str, object],
        facts: Callable[[], Mapping[str, object]] | None = None,
        *,
        full: int = FULL,
        count: int = 1,
    ) -> None:
        """Log an event, or count it. Events with the same `alike` are of one kind; `facts` are
        asked for only if it is logged in full."""
        kind = self._kind(tell, event, alike)
        if kind.told < full and not kind.more:
            kind.told += 1
            counted = {"count": count} if count > 1 else {}
            kind.tell(event, **alike, **counted, **(facts() if facts else {}))
        else:
            kind.more += count

    def close(self) -> None:
        """Tell what was counted."""
        for key in list(self._kinds):
            self._tell(self._kinds.pop(key))

    def _kind(self, tell: Tell, event: str, alike: Mapping[str, object]) -> _Kind:
        key: tuple[object, ...] = (event, *alike.values())
        if key not in self._kinds and len(self._kinds) >= KINDS_MAX:
            key, alike = (event,), {}
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind(tell, event, alike)
            self._wait(key, kind)
        return kind

    def _wait(self, key: tuple[object, ...], kind: _Kind) -> None:
        kind.timer = self._clock.later(int(WINDOW_S * 1000), partial(self._over, key))

    def _over(self, key: tuple[object, ...]) -> None:
        kind = self._kinds.pop(key, None)
        if kind is None or not kind.more:
            return
        self._tell(kind)
        # They may keep coming: of the next ten seconds only their number is logged.
        kind.more, kind.told = 0, FULL
        self._kinds[key] = kind
        self._wait(key, kind)

    def _tell(self, kind: _Kind) -> None:
        if kind.timer is not None:
            kind.timer.cancel()
        if kind.more:
            kind.tell(kind.event, **kind.alike, more=kind.more, within_s=int(WINDOW_S))


class FirstTimes:
    """Tells what has not happened for an hour from what has."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen_s: dict[object, float] = {}

    def is_first(self, what: object) -> bool:
        """Whether it has not happened for an hour. Of more than can be remembered, none is."""
        now_s = self._clock.steady_s()
        seen_s = self._seen_s.get(what)
        if seen_s is None and len(self._seen_s) >= FIRSTS_MAX:
            fresh = {one: at_s for one, at_s in self._seen_s.items() if now_s - at_s < HOUR_S}
            self._seen_s = fresh
            if len(fresh) >= FIRSTS_MAX:
                return False
        self._seen_s[what] = now_s
        return seen_s is None or now_s - seen_s >= HOUR_S
