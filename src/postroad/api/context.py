"""What all routes of a server share."""

from collections.abc import Awaitable, Callable, Mapping

from postroad.api.access import Access
from postroad.api.admission import IntakeAdmission
from postroad.api.audit import AuditTrail
from postroad.api.hosts import Hosts
from postroad.api.login_file import read_login_file
from postroad.api.tries import Tries
from postroad.api.unsubscribe_page import read_words
from postroad.api.uploads import UploadRoom
from postroad.app import Postroad
from postroad.config import Settings, address
from postroad.observe.metrics import CountedSample, Meter
from postroad.ports.broker import HasBroker
from postroad.ports.log import Log
from postroad.verbs.waits import Waits

Others = Callable[[list[CountedSample]], Awaitable[list[CountedSample]]]


class Context:
    """One road and its server's settings, access checks, admission and metrics."""

    def counts(self) -> list[CountedSample]:
        """What this process has counted."""
        engine = self.road.engine
        self.meter.works(len(engine.lanes) if engine else 0, self.road.store.queries)
        return self.meter.counts()

    def __init__(self, road: Postroad, settings: Settings, log: Log) -> None:
        self.road = road
        self.settings = settings
        self.log = log
        hosts = Hosts(settings.allowed_hosts, address(settings.listen)[0])
        self.access = Access(road.tokens, road.store.clock, settings.origins, hosts)
        self.audit = AuditTrail(road.store, road.store.clock, log)
        self.meter = road.meter or Meter()
        self.admission = IntakeAdmission(
            self.meter, settings.intake_max, keyed=not isinstance(road.store, HasBroker)
        )
        self.login_file = read_login_file(settings.login_file)
        self.unsubscribe_words = read_words(settings.unsubscribe_page)
        self.unsubscribe_tries = Tries(road.store.clock)
        """Tries in a minute of one link, and of wrong links from one network."""
        self.login_tries = Tries(road.store.clock)
        self.waits = Waits("requests for results")
        self.uploads = UploadRoom()
        self.sources: Mapping[str, str] = {}
        """Where each setting comes from, if it was not given in Python."""
        self.delivers = False
        """Whether this process also delivers."""
        self.stopping = False
        self.url = ""
        """Where this process serves the API; empty when it serves none."""
        self.others: Others | None = None
        """Gives what other processes under the same supervisor have counted, for what this one
        has."""
        self.looked_s: float | None = None
        """When the sums of the metrics were last asked for."""
