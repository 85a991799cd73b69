"""Which recipients of a campaign may be sent to now, and when the others: not those outside their
allowed hours, and not those whose servers asked to try again later."""

from postroad.campaigns.rendering import FIELDS
from postroad.model.campaign import ZONE_COLUMN, Campaign, Row
from postroad.model.hours import OpenHours, known_zone, opens_at_ms
from postroad.model.states import NEVER
from postroad.model.wording import moment

Hours = tuple[OpenHours, ...]


class RecipientHours:
    """What one sender has put off. Those recipients stay in the queue, and are read again when the
    first of them may be sent to."""

    def __init__(self, campaign: Campaign) -> None:
        columns = campaign.columns
        self._place = columns.index(ZONE_COLUMN) if ZONE_COLUMN in columns else None
        self._zone = campaign.spec.zone
        self._asked: tuple[Hours, int] = ((), 0)
        self._opens: dict[str, int] = {}
        self._first_ms = NEVER
        self.put_off = 0
        self._deferred = 0
        """Those of them that are tried again after a temporary answer."""
        self.waiting = False
        """Whether nothing else is left to be read."""

    def defer(self, at_ms: int) -> None:
        """A recipient is tried again after a temporary answer, then."""
        self.put_off += 1
        self._deferred += 1
        self._first_ms = min(self._first_ms, at_ms)

    def admits(self, hours: Hours, row: Row, now_ms: int) -> bool:
        """Whether a recipient may be sent to now; else it is put off."""
        if self._asked != (hours, now_ms):
            self._asked, self._opens = (hours, now_ms), {}
        zone = self._zone_of(row)
        at_ms = self._opens.get(zone)
        if at_ms is None:
            at_ms = self._opens[zone] = opens_at_ms(hours, now_ms, zone)
        if at_ms <= now_ms:
            return True
        self.put_off += 1
        self._first_ms = min(self._first_ms, at_ms)
        return False

    def _zone_of(self, row: Row) -> str:
        own = FIELDS.decode(row.fields)[self._place].strip() if self._place is not None else ""
        return known_zone(own) or known_zone(self._zone)

    def wait(self, now_ms: int) -> str:
        """Wait for the first opening; says so in words, or nothing when it has come."""
        self.waiting = self._first_ms > now_ms
        if not self.waiting:
            self._begin()
            return ""
        if self._deferred:
            why = "are tried again since their servers said later" + (
                ", or wait for their allowed hours" if self.put_off > self._deferred else ""
            )
            return f"{self.put_off} recipients {why}: the first at {moment(self._first_ms)}"
        return (
            f"{self.put_off} recipients wait for their allowed hours, which begin for the first of "
            f"them at {moment(self._first_ms)}"
        )

    def look_again(self) -> None:
        """Others have come back to the queue: it is read again at once."""
        self._first_ms = 0

    def is_over(self, now_ms: int) -> bool:
        """Whether the first opening has come: then all are read again."""
        if now_ms < self._first_ms:
            return False
        self._begin()
        return True

    def _begin(self) -> None:
        self._first_ms, self.put_off, self._deferred, self.waiting = NEVER, 0, 0, False
