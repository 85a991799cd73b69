"""The circuit of a lane: when its server is away, only one probe an interval goes out."""

from typing import Final

from msgspec import Struct

from postroad.model.block import UNREACHABLE_LANE

STRIKES: Final = 3


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


CLOSED: Final = Circuit()


def struck(circuit: Circuit, reason: str, now_ms: int, draw: float, *, probe: bool) -> Circuit:
    """After an attempt without an answer. What was in flight when the circuit opened does
    not open it further; a failed probe does."""
    strikes = circuit.strikes + 1
    since_ms = circuit.since_ms or now_ms
    if circuit.is_open and not probe:
        return circuit
    if not circuit.is_open and strikes < STRIKES:
        return Circuit(strikes, 0, 0, since_ms, reason)
    opened = circuit.opened + 1
    until_ms = now_ms + UNREACHABLE_LANE.wait_ms(opened, draw)
    return Circuit(strikes, opened, until_ms, since_ms, reason)
