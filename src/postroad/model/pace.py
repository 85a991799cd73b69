"""Limits: how they are written, the time between two starts that follows from them, and
reservations of rate slots."""

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.errors import BadInput
from postroad.model.hours import OpenHours, read_hours
from postroad.model.texts import RATE_MAX, checked

GRACE_US: Final = 40_000
"""A slot that could not be used is void so long after its time."""
SPREAD_US: Final = 40_000
"""How much the network delay of two starts may differ, half of it for clock error."""
LATE_US: Final = GRACE_US + SPREAD_US
BLOCK_US: Final = 250_000
"""One reservation holds the slots of so long, and at least one."""
AHEAD_US: Final = 250_000
"""Nothing is reserved further ahead than this."""
STARTS_MAX: Final = 1_000
SPACED_US: Final = 60_000_000
"""Windows up to a minute are kept by the space between two starts, longer ones by counting."""
BUCKETS: Final = 60
"""A counted window lies over so many buckets, and one more: 1.7 % are not used."""
WAITS_US: Final = 500_000
"""One who was refused and does not ask again by then does not wait any more."""
PRESENT_US: Final = 2_000_000
"""A process that neither asked nor was told to wait for so long begins again, level with the
others."""
TURN_US: Final = 20_000
NEVER_US: Final = 1 << 62
STEP_US: Final = 60_000
"""One whose own limit has a slot soon looks this often whether the shared one has got there."""

UNITS_S: Final = {"s": 1, "min": 60, "m": 60, "h": 3_600, "d": 86_400}
COUNT: Final = re.compile(r"[0-9]{1,9}")
SPAN: Final = re.compile(r"([0-9]{0,5})\s*(s|min|m|h|d)")


class Window(Struct, frozen=True, array_like=True):
    """At most `most` starts in any stretch of that length."""

    most: int
    length_us: int


class Limit(Struct, frozen=True):
    """What a credential, a queue or a provider allows. `cost` is what a start counts as unless it
    says so, and the most that it may count as. One without windows has only hours."""

    text: str
    windows: tuple[Window, ...]
    cost: int = 1
    hours: OpenHours | None = None

    @property
    def spacing_us(self) -> int:
        """The time that a start of cost 1 takes, so that any stretch at the provider's door holds
        at most what is allowed although each start may come up to LATE_US late. (The last start
        of a stretch brings its whole cost with it, hence less `cost - 1`.)"""
        return spacing_us(self.windows, self.cost, LATE_US)

    @property
    def counted(self) -> tuple[Window, ...]:
        """The windows that are kept by counting."""
        return tuple(window for window in self.windows if window.length_us > SPACED_US)


LIFTED: Final = Limit("", ())
DRAINING: Final = " (draining)"
"""What the text of a limit ends with that holds while an endpoint drains: no other one is lifted at
the end of it."""


def drain_limit(rate: str) -> Limit:
    """Read the rate of draining."""
    return replace(read_limit(rate), text=rate + DRAINING)


def spacing_us(windows: tuple[Window, ...], cost: int, late_us: int) -> int:
    """Return the least time between two starts of cost 1, rounded up."""
    spaced = [window for window in windows if window.length_us <= SPACED_US]
    return max((-(-(w.length_us + late_us) // (w.most - cost + 1)) for w in spaced), default=0)


def read_limit(text: str, cost: int = 1) -> Limit:
    """Read `50/s`, `50/s,1000/h`, `100/10s` or `5000/d`; BadInput says what is wrong."""
    if not isinstance(text, str):
        raise BadInput(f"limit {text!r}: write it as a text, '50/s'")
    windows = [_window(part.strip()) for part in checked("rate", text, RATE_MAX).split(",")]
    if cost < 1 or min(window.most for window in windows) < cost:
        raise BadInput(
            f"limit {text!r} with cost {cost}: a start costs at least 1, and every window has to "
            "allow at least one start; to stop a queue, pause it"
        )
    return Limit(text, tuple(windows), cost)


def make_limit(rate: str | None, cost: int = 1, hours: str = "", zone: str = "") -> Limit | None:
    """Return the limit of a rate, of allowed hours, or of both; None is no limit."""
    if not rate and not hours:
        return None
    if zone and not hours:
        raise BadInput(f"zone {zone!r} without hours: give both, as 09:00-20:00")
    limit = read_limit(rate, cost) if rate else Limit("", (), cost)
    return replace(limit, hours=read_hours(hours, zone)) if hours else limit


def _window(text: str) -> Window:
    most, _, span = text.partition("/")
    count, found = COUNT.fullmatch(most.rstrip()), SPAN.fullmatch(span.lstrip())
    if count is None or found is None:
        raise BadInput(f"limit {text!r}: write it as 50/s, 3000/min, 1000/h or 5000/d")
    seconds = int(found[1] or 1) * UNITS_S[found[2]]
    if not 1 <= seconds <= 31 * 86_400:
        raise BadInput(f"limit {text!r}: a window is between a second and 31 days")
    return Window(int(count[0]), seconds * 1_000_000)


class Ask(Struct, frozen=True):
    """A request for rate slots. `name` is the campaign, lane or queue that they are for."""

    ledgers: tuple[int, ...]
    """Each start takes a slot of all of them at once; the slots of the first are shared fairly."""
    name: str
    starts: int
    cost: int = 0
    """What each start costs; 0 is what the limit says. A start that costs more than the limit has
    is never granted."""
    gap_us: int = 0
    """How much less well than allowed for the asker knows the store's clock: so long after its
    last start the next one's slot lies at the soonest."""


class Grant(Struct, frozen=True):
    """The times of rate slots on the store's clock; without any, when to ask again."""

    at_us: tuple[int, ...] = ()
    again_us: int = 0


class Reserved(Struct, frozen=True):
    """The store's time, and the answers to all requests."""

    now_us: int
    grants: tuple[Grant, ...]


class Ledger(Struct):
    """The state of one limit: up to when its rate slots are taken, and what long windows have
    used."""

    id: int
    cost: int
    spacing_us: int
    counted: tuple[Window, ...]
    next_us: int
    used: dict[tuple[int, int], int]
    """Used slots, by length of window and bucket."""
    until_us: int = 0
    """When the limit ends by itself; 0 is never."""


class Share(Struct):
    """What one name has taken, when it last asked, and when it is to ask again (0: it got what it
    asked for)."""

    taken: int
    seen_us: int
    again_us: int = 0

    @property
    def last_us(self) -> int:
        """Until when it was certainly present."""
        return max(self.seen_us, self.again_us)


def reserve(ask: Ask, ledgers: list[Ledger], shares: dict[str, Share], now_us: int) -> Grant:
    """Reserve rate slots, or say when to ask again. `shares` are those of the first ledger."""
    if any(ask.cost > ledger.cost for ledger in ledgers):
        return Grant((), NEVER_US)  # the spacing would be too small for it
    mine = _my_share(ask.name, shares, now_us)
    again_us = _turn_us(mine, shares, now_us)
    at_us: list[int] = []
    waits = bool(again_us)
    if not again_us:
        again_us = _take(ask, ledgers, at_us, now_us)
        # One that its own limit holds up must not hold up the others.
        waits = not at_us and ledgers[0].next_us - AHEAD_US == again_us
    mine.seen_us = now_us
    mine.again_us = again_us if waits else 0
    mine.taken += len(at_us) * (ask.cost or ledgers[0].cost)
    if at_us:
        for ledger in ledgers:
            ledger.next_us += ask.gap_us
    ends_us = [ledger.until_us for ledger in ledgers if ledger.until_us]
    return Grant(tuple(at_us), min(again_us, *ends_us) if ends_us else again_us)


def _my_share(name: str, shares: dict[str, Share], now_us: int) -> Share:
    """Return the share of a name. A newcomer begins level with the one that has the least."""
    for other in [n for n, share in shares.items() if share.last_us < now_us - PRESENT_US]:
        del shares[other]
    if name not in shares:
        least = min((share.taken for share in shares.values()), default=0)
        shares[name] = Share(least, now_us)
    return shares[name]


def _turn_us(mine: Share, shares: dict[str, Share], now_us: int) -> int:
    """Return when to ask again, because another one waits that has had less; 0 is at once."""
    first = [
        share.again_us
        for share in shares.values()
        if share.again_us and share.again_us + WAITS_US > now_us and share.taken < mine.taken
    ]
    return max(min(first), now_us) + TURN_US if first else 0


def _take(ask: Ask, ledgers: list[Ledger], at_us: list[int], now_us: int) -> int:
    """Take rate slots one after the other, in all ledgers at once; returns when there may be
    more."""
    while len(at_us) < min(ask.starts, STARTS_MAX):
        free_us = max(now_us, *(ledger.next_us for ledger in ledgers))
        if at_us and free_us >= at_us[0] + BLOCK_US:
            return free_us - AHEAD_US
        if free_us > now_us + AHEAD_US + (BLOCK_US if at_us else 0):
            return free_us - AHEAD_US
        # Slots of the shared ledger that would be passed over are left to others.
        shared = ledgers[0]
        if free_us > max(now_us, shared.next_us) + max(GRACE_US, shared.spacing_us):
            return max(free_us - AHEAD_US, min(free_us - GRACE_US, now_us + STEP_US))
        again_us = max(full_us(one, ask.cost or one.cost, free_us) for one in ledgers)
        if again_us:
            return again_us
        for ledger in ledgers:
            _charge(ledger, ask.cost or ledger.cost, free_us)
        at_us.append(free_us)
    return 0


def _charge(ledger: Ledger, cost: int, at_us: int) -> None:
    ledger.next_us = at_us + cost * ledger.spacing_us
    for window in ledger.counted:
        bucket = (window.length_us, at_us // (window.length_us // BUCKETS))
        ledger.used[bucket] = ledger.used.get(bucket, 0) + cost


def full_us(ledger: Ledger, cost: int, at_us: int) -> int:
    """Return when a counted window allows a start again; 0 if it does now. A bucket counts until
    all of it, and what came late, lies outside."""
    again_us = 0
    for window in ledger.counted:
        width_us = window.length_us // BUCKETS
        first = (at_us - window.length_us - LATE_US) // width_us
        counts = {b: n for (length, b), n in ledger.used.items() if length == window.length_us}
        live = sorted(bucket for bucket in counts if bucket >= first)
        over = sum(counts[b] for b in live) + cost - window.most
        while over > 0:
            bucket = live.pop(0)
            over -= counts[bucket]
            again_us = max(again_us, (bucket + 1) * width_us + window.length_us + LATE_US)
    return again_us


def forget_old(ledger: Ledger, now_us: int) -> list[tuple[int, int]]:
    """Remove the buckets that count no more, and return them."""
    old = [
        (length, bucket)
        for length, bucket in ledger.used
        if (bucket + 1) * (length // BUCKETS) + length + LATE_US < now_us
    ]
    for key in old:
        del ledger.used[key]
    return old


def resumed_us(next_us: int, old_us: int, new_us: int, now_us: int) -> int:
    """Return the next rate slot after a limit's spacing has changed: slots that are reserved and
    may still be used count by the new spacing too. One that is lifted and set again goes on where
    it was."""
    if not old_us or not new_us:
        return next_us
    reserved = max(0, next_us - now_us + GRACE_US) // old_us
    return next_us - old_us + (reserved + 1) * new_us
