"""Early probes: new traffic for a server that is away may have one before its time."""

from typing import Final

from msgspec import Struct

from postroad.model.circuit import Circuit, early_ms
from postroad.model.states import NEVER

SOON_MS: Final = 10_000


class EarlyProbe(Struct, gc=False):
    """What the owner of a lane knows of that. A lane that was claimed before the time of its next
    probe was so because something came."""

    arrived: bool = True
    """Something came since the last probe."""
    at_ms: int = 0

    def probe_at_ms(self, circuit: Circuit) -> int:
        """When the next probe of an open circuit may go."""
        return self.at_ms if self.arrived else circuit.until_ms

    def soon(self, circuit: Circuit, now_ms: int) -> bool:
        """Whether to keep the lane for a probe of which its next owner would not know."""
        return circuit.is_open and self.arrived and self.at_ms <= now_ms + SOON_MS

    def changed(self, circuit: Circuit, now_ms: int) -> None:
        """A probe has failed, or the circuit has opened or closed."""
        self.arrived = False
        self.at_ms = early_ms(circuit, now_ms) if circuit.is_open else NEVER
