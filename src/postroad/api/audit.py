"""Writes the audit log: one line for each change that somebody asks for over this API."""

from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

from msgspec import UNSET, Struct, structs

from postroad.api.in_process import IN_PROCESS
from postroad.api.problems import problem
from postroad.api.request import NOBODY, Request
from postroad.api.routing import Route
from postroad.model.audit import CHARACTERS_MAX, AuditEnd, AuditLine, AuditOutcome, shown_text
from postroad.model.errors import StoreError
from postroad.model.foreign import clean
from postroad.model.tokens import Caller
from postroad.ports.audit import AuditLog
from postroad.ports.clock import Clock
from postroad.ports.log import Log

T = TypeVar("T")
NAMED: Final = frozenset(
    (
        "at",
        "box",
        "cost",
        "count",
        "credential",
        "cron",
        "do",
        "every_s",
        "everywhere",
        "everything",
        "force",
        "hours",
        "id",
        "ids",
        "kind",
        "lane",
        "lanes",
        "lasts_s",
        "level",
        "missed",
        "mode",
        "name",
        "order_key",
        "outcome",
        "override",
        "paused",
        "queue",
        "quota",
        "rate",
        "reason",
        "role",
        "row",
        "rows",
        "scopes",
        "since",
        "skip_invalid",
        "state",
        "tenant",
        "ttl_s",
        "until",
        "url",
        "zone",
    )
)
"""The parameters and fields that a line shows. All others stay out of it: templates, headers,
secrets, keys, addresses of people, error texts."""
COUNTED: Final = ("count", "cancelled", "settled", "sealed", "rows")
"""The fields of answers that count what was changed."""
LISTED_MAX: Final = 10
REFUSED_MAX: Final = 10
REFUSED_S: Final = 60.0
"""Lines about refusals of one token in a minute; the next line says how many more there were."""
TOKENS_MAX: Final = 10_000


class Refusals:
    """Counts the refusals of a token, so that it cannot fill the log with them."""

    def __init__(self) -> None:
        self._recent: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def count(self, token: str, now_s: float) -> int | None:
        """Return None to leave this refusal out, else how many were left out before it."""
        since_s, seen = self._recent.pop(token, (now_s, 0))
        left_out = 0
        if now_s - since_s >= REFUSED_S:
            left_out, since_s, seen = max(0, seen - REFUSED_MAX), now_s, 0
        self._recent[token] = (since_s, seen + 1)
        while len(self._recent) > TOKENS_MAX:
            self._recent.popitem(last=False)
        return left_out if seen < REFUSED_MAX else None


class AuditTrail:
    """Writes a line before a change is made, and completes it afterwards. So a crash in between
    leaves a line that says `asked`, and never a change without a line."""

    def __init__(self, store: AuditLog, clock: Clock, log: Log) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._refusals = Refusals()

    async def begin(self, request: Request, route: Route, given: Mapping[str, Any]) -> "OpenEntry":
        """Write that a change is asked for. StoreError if that cannot be: then it is not made."""
        line = self._line(request, route, told(given))
        return OpenEntry(self, await self._store.audit_add(line), request, line.what)

    async def around(
        self, who: Caller, verb: str, what: dict[str, str], work: Awaitable[T], address: str = ""
    ) -> T:
        """Do work with its line around it: that of a command on this machine, which makes no
        request, or that of somebody at an address."""
        line = self._new(who, address, verb, what)
        number = await self._store.audit_add(line)
        try:
            said = await work
        except Exception as error:
            await self.end(number, problem(error).status, what, None)
            raise
        await self.end(number, 200, what, said)
        return said

    async def refused(self, request: Request, route: Route, path: Mapping[str, str]) -> None:
        """Write that a known caller asked for what it may not; a stranger's request leaves no
        line."""
        if request.who is NOBODY:
            return
        left_out = self._refusals.count(request.who.token, self._clock.steady_s())
        if left_out is None:
            return
        more = {"left_out": str(left_out)} if left_out else {}
        line = structs.replace(
            self._line(request, route, told(path) | more),
            outcome=AuditOutcome.refused,
            status=403,
            ended_at_ms=self._clock.now_ms(),
        )
        try:
            _ = await self._store.audit_add(line)  # it is whole: its number is not needed
        except StoreError as error:  # the refusal itself is to be answered
            self._log.warning("could not write a refusal to the audit log", error=str(error))

    def _line(self, request: Request, route: Route, what: dict[str, str]) -> AuditLine:
        address = ""
        if request.peer is not None:
            address = f"process {request.peer.pid}"
        elif request.client is not None and request.client is not IN_PROCESS:
            address = request.client[0]
        return self._new(request.who, address, route.handler.__name__, what)

    def _new(self, who: Caller, address: str, verb: str, what: dict[str, str]) -> AuditLine:
        return AuditLine(
            id=0,
            at_ms=self._clock.now_ms(),
            ended_at_ms=None,
            tenant=who.tenant,
            actor=who.token,
            name=clean(who.name, CHARACTERS_MAX),
            address=address,
            verb=verb,
            what=what,
            outcome=AuditOutcome.asked,
            status=0,
        )

    async def end(self, number: int, status: int, what: dict[str, str], said: object) -> None:
        """Complete a line. If that fails, the change is made: its line stays as it was asked."""
        end = AuditEnd(self._clock.now_ms(), outcome_of(status), status, counted(said), what)
        try:
            await self._store.audit_end(number, end)
        except StoreError as error:
            self._log.warning(
                "a line of the audit log could not be completed", line=number, error=str(error)
            )


CUT: Final = 499
"""The status of an answer whose client went away; it is written nowhere else."""


class OpenEntry:
    """A line whose change is under way."""

    def __init__(
        self, trail: AuditTrail, number: int, request: Request, what: dict[str, str]
    ) -> None:
        self._trail = trail
        self._number = number
        self._request = request
        self._what = what

    async def end(self, status: int, said: object = None) -> None:
        """Complete it with a status, and with what the route noted and said."""
        request = self._request
        what = self._what | told(request.noted, every=True)
        shown = said if isinstance(said, Struct) else request.said
        await self._trail.end(self._number, request.problem_status or status, what, shown)


def outcome_of(status: int) -> AuditOutcome:
    """What an answer's status says about a change."""
    if status == CUT:
        return AuditOutcome.cut
    if status >= 500:
        return AuditOutcome.failed
    return AuditOutcome.refused if status >= 400 else AuditOutcome.done


def counted(said: object) -> int | None:
    """How many were changed, if the answer counts them."""
    for name in COUNTED:
        value = getattr(said, name, None)
        if isinstance(value, int) and isinstance(said, Struct):
            return value
    return None


def told(given: Mapping[str, Any], *, every: bool = False) -> dict[str, str]:
    """Which of the arguments a line shows: those of `NAMED`, also of the body, each cut short."""
    found: dict[str, str] = {}
    for name, value in given.items():
        if isinstance(value, Struct):
            found |= told(_given(value))
        elif (every or name in NAMED) and value not in (None, UNSET, "", (), []):
            found[name] = _short(value)
    return found


def _given(body: Struct) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    values = {each.name: (getattr(body, each.name), each.default) for each in structs.fields(body)}
    return {name: value for name, (value, default) in values.items() if value != default}


def is_rehearsal(given: Mapping[str, Any]) -> bool:
    """Whether a change is only counted: then there is nothing to log."""
    return any(getattr(value, "dry_run", False) for value in given.values())


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        more = f" and {len(value) - LISTED_MAX} more" if len(value) > LISTED_MAX else ""
        return shown_text(" ".join(map(str, value[:LISTED_MAX]))) + more
    return shown_text(str(value))
