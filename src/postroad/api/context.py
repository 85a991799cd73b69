"""What every route works with."""

from typing import Any

from litestar import Request

from postroad.api.access import Access
from postroad.api.admission import Admission
from postroad.api.hosts import Hosts
from postroad.app import Postroad
from postroad.config import Settings, address
from postroad.model.tokens import Who
from postroad.observe.metrics import Meter
from postroad.ports.log import Log

Ask = Request[Any, Any, Any]


class Context:
    """One road and its server."""

    def __init__(self, road: Postroad, settings: Settings, log: Log) -> None:
        self.road = road
        self.settings = settings
        self.log = log
        hosts = Hosts(settings.allowed_hosts, address(settings.listen)[0])
        self.access = Access(road.tokens, road.store.clock, settings.origins, hosts)
        self.meter = road.meter = road.meter or Meter()
        self.admission = Admission(self.meter, settings.intake_max, settings.store_wait_s)
        self.delivers = False
        """Whether this process also delivers."""
        self.stopping = False
        self.looked_s: float | None = None
        """When the sums of the metrics were last asked for."""


def context(request: Ask) -> Context:
    """The server's own."""
    found: Context = request.app.state.context
    return found


def who(request: Ask) -> Who:
    """The one who asks, as the guard found out."""
    found: Who = request.scope["state"]["who"]
    return found
