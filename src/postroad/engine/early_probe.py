"""EarlyProbe: new traffic for a server that is away brings its next probe forward."""

from typing import Final

from msgspec import Struct

from postroad.model.circuit import Circuit, early_ms
from postroad.model.states import NEVER

SOON_MS: Final = 10_000


class EarlyProbe(Struct, gc=False):
    """Whether something came since the last probe, and when an early probe may go. A lane that is
    claimed before the time of its next probe is claimed since something came."""

    _new_traffic: bool = True
    at_ms: int = 0

    def message_came(self) -> None:
        """A message that is due was added to the lane."""
        self._new_traffic = True

    def probe_at_ms(self, circuit: Circuit) -> int:
        """When the next probe of an open circuit may go."""
        early = self._new_traffic and not circuit.is_held
        return self.at_ms if early else circuit.until_ms

    def is_soon(self, circuit: Circuit, now_ms: int) -> bool:
        """Whether to keep the lane for a probe of which its next owner would not know."""
        return circuit.is_open and self._new_traffic and self.at_ms <= now_ms + SOON_MS

    def changed(self, circuit: Circuit, now_ms: int) -> None:
        """A probe has failed, or the circuit has opened or closed."""
        self._new_traffic = False
        self.at_ms = early_ms(circuit, now_ms) if circuit.is_open else NEVER
