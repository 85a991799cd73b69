"""The circuit of a lane. While its server is away, one probe per interval is sent, and with new
traffic one per quarter of it. An answer rule opens it, too, for a time that new traffic does not
shorten."""

from typing import Final

from msgspec import Struct

from postroad.model.block import UNREACHABLE_LANE

STRIKES: Final = 3
EARLY_PARTS: Final = 4
EARLY_LEAST_MS: Final = 2_000
"""New traffic has a probe after a quarter of the interval, and no sooner than this."""


class Circuit(Struct, frozen=True, gc=False):
    """`strikes` in a row without an answer; `opened` times in a row; closed when 0."""

    strikes: int = 0
    opened: int = 0
    until_ms: int = 0
    since_ms: int = 0
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Open: nothing goes out but one probe when `until_ms` has passed."""
        return self.opened > 0

    @property
    def is_held(self) -> bool:
        """Open because an answer rule holds the lane, and not since its server is away."""
        return self.opened > 0 and not self.strikes


CLOSED: Final = Circuit()


def held(circuit: Circuit, reason: str, now_ms: int, lasts_ms: int) -> Circuit:
    """Return the circuit of a lane that an answer rule holds; of several ends the latest counts."""
    until_ms = max(now_ms + lasts_ms, circuit.until_ms if circuit.is_held else 0)
    return Circuit(0, 1, until_ms, now_ms, reason)


def obeyed(own: Circuit, stored: Circuit) -> Circuit:
    """Return the circuit of a lane's owner after it has read the stored one: somebody else may have
    closed it by hand, and a campaign may hold the lane."""
    closed = own.is_open and not stored.is_open
    held_longer = stored.is_held and stored.until_ms > own.until_ms
    return stored if closed or held_longer else own


def after_no_answer(
    circuit: Circuit, reason: str, now_ms: int, draw: float, *, probe: bool
) -> Circuit:
    """Return the circuit after a try without an answer. What was in flight when the circuit opened
    does not open it further. A failed probe does, unless it was an early one."""
    strikes = circuit.strikes + 1
    since_ms = circuit.since_ms or now_ms
    if circuit.is_open and not probe:
        return circuit
    if not circuit.is_open and strikes < STRIKES:
        return Circuit(strikes, 0, 0, since_ms, reason)
    if now_ms < circuit.until_ms:
        until_ms = max(circuit.until_ms, now_ms + EARLY_LEAST_MS)
        return Circuit(strikes, circuit.opened, until_ms, since_ms, reason)
    opened = circuit.opened + 1
    until_ms = now_ms + UNREACHABLE_LANE.wait_ms(opened, draw)
    return Circuit(strikes, opened, until_ms, since_ms, reason)


def early_ms(circuit: Circuit, now_ms: int) -> int:
    """After a failed probe: from when on new traffic may have the next one. A server that was away
    for d seconds gets one within d / 3 + 2 s; without traffic it is 1.7 d + 2.5 s. However much
    traffic there is, it costs four probes an interval at most, instead of one."""
    if circuit.is_held:
        return circuit.until_ms
    quarter_ms = UNREACHABLE_LANE.interval_ms(circuit.opened) // EARLY_PARTS
    return min(circuit.until_ms, now_ms + max(EARLY_LEAST_MS, quarter_ms))
