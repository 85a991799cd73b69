"""The parts of a road that a test may replace."""

from collections.abc import Callable

from msgspec import Struct

from postroad.ports.clock import Chance, Clock
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.transports.smtp.resolver import DnsResolver
from postroad.transports.threads import Calls, Threads
from postroad.transports.webhook.resolving import Resolve


class Parts(Struct, frozen=True):
    """Parts of a road that a test may replace."""

    clock: Clock | None = None
    chance: Chance | None = None
    store: Store | None = None
    log: Log | None = None
    threads: Callable[[str, int], Calls] = Threads
    resolve: Resolve | None = None
    names: DnsResolver | None = None
    patience_s: float = 30.0
    """How long a road that another process serves waits for that one to come back."""
