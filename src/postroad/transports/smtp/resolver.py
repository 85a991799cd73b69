"""Asks name servers for the records of mail (MX, TXT, addresses) by dnspython, and keeps the
answers for as long as they say, within bounds."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from postroad.model.extras import Needing
from postroad.transports.webhook.resolving import Unresolved

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver
    from dns.rdata import Rdata

LOOKUP_S: Final = 5.0
AT_ONCE: Final = 64
"""Lookups of one process in flight."""
RECORDS_MAX: Final = 32
TEXT_BYTES_MAX: Final = 4_096
KEPT_MIN_S, KEPT_MAX_S = 60.0, 3_600.0
"""An answer is kept so long, however short or long it says."""
STALE_S: Final = 86_400.0
"""How long an old answer is used while no name server gives a new one (RFC 8767)."""
KEPT_MAX: Final = 50_000


class NoSuchName(Exception):
    """A name server said that the name does not exist."""


class Records(Struct, frozen=True):
    """An answer, as text. `exists`: whether there is such a name."""

    texts: tuple[str, ...]
    exists: bool
    until_s: float


class MxRecord(Struct, frozen=True, order=True):
    """A server that takes mail of a domain; the smaller preference goes first."""

    preference: int
    host: str


class DnsResolver:
    """Looks up records. The same question is asked once, however many wait for its answer."""

    def __init__(self, resolver: "Resolver | None" = None) -> None:
        self._resolver = resolver
        self._kept: OrderedDict[tuple[str, str], Records] = OrderedDict()
        self._asked: dict[tuple[str, str], asyncio.Task[Records]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def mx(self, domain: str) -> list[MxRecord]:
        """Return the servers that take a domain's mail, the preferred first; none: the domain
        itself may be one. Raises NoSuchName and Unresolved."""
        found = await self._find(domain, "MX")
        pairs = (text.split(" ", 1) for text in found)
        return sorted(MxRecord(int(preference), host) for preference, host in pairs)

    async def txt(self, name: str) -> tuple[str, ...]:
        """Return the texts of a name; none when there is no such name. Raises Unresolved."""
        try:
            return await self._find(name, "TXT")
        except NoSuchName:
            return ()

    async def ptr(self, name: str) -> tuple[str, ...]:
        """Return the names of an address, by its reverse name; none when there are none."""
        try:
            return await self._find(name, "PTR")
        except NoSuchName:
            return ()

    async def __call__(self, host: str) -> list[str]:
        """Return the addresses of a host. Raises Unresolved."""
        try:
            sixes, fours = await asyncio.gather(self._find(host, "AAAA"), self._find(host, "A"))
        except NoSuchName:
            raise Unresolved(f"{host} does not exist") from None
        return [*sixes, *fours]

    async def _find(self, name: str, kind: str) -> tuple[str, ...]:
        place = (name.lower().rstrip("."), kind)
        now_s = asyncio.get_running_loop().time()
        found = self._kept.get(place)
        if found is None or found.until_s <= now_s:
            try:
                found = await asyncio.shield(self._task(place))
            except Unresolved:
                if found is None or found.until_s + STALE_S <= now_s:
                    raise
        if not found.exists:
            raise NoSuchName(f"{name} does not exist")
        return found.texts

    def _task(self, place: tuple[str, str]) -> "asyncio.Task[Records]":
        task = self._asked.get(place)
        if task is None:
            task = self._asked[place] = asyncio.create_task(self._ask(place))
            task.add_done_callback(lambda done: self._answered(place, done))
        return task

    def _answered(self, place: tuple[str, str], task: "asyncio.Task[Records]") -> None:
        del self._asked[place]
        if task.cancelled() or task.exception() is not None:
            return
        self._kept[place] = task.result()
        self._kept.move_to_end(place)
        if len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)

    async def _ask(self, place: tuple[str, str]) -> Records:
        with Needing("mail straight to other servers", "mail"):
            from dns.exception import DNSException, Timeout
            from dns.resolver import NXDOMAIN
        resolver = self._resolver
        if resolver is None:
            resolver = self._resolver = await asyncio.to_thread(_system_resolver)
        name, kind = place
        loop = asyncio.get_running_loop()
        try:
            async with self._places:
                answer = await resolver.resolve(
                    f"{name}.", kind, raise_on_no_answer=False, lifetime=LOOKUP_S, search=False
                )
        except NXDOMAIN:
            return Records((), exists=False, until_s=loop.time() + KEPT_MIN_S)
        except Timeout:
            raise Unresolved(f"no name server answered for {name} in {LOOKUP_S:g} s") from None
        except (DNSException, OSError, ValueError) as error:
            raise Unresolved(f"{name} has no {kind} now: {error}") from None
        kept_s = min(max(answer.expiration - answer.response.time, KEPT_MIN_S), KEPT_MAX_S)
        texts = [_text(record) for record in list(answer.rrset or ())[:RECORDS_MAX]]
        return Records(tuple(texts), exists=True, until_s=loop.time() + kept_s)


def _system_resolver() -> "Resolver":
    from dns.asyncresolver import Resolver

    return Resolver()


def _text(record: "Rdata") -> str:
    from dns.rdtypes.ANY.MX import MX
    from dns.rdtypes.ANY.TXT import TXT

    if isinstance(record, TXT):
        return b"".join(record.strings)[:TEXT_BYTES_MAX].decode("utf-8", "replace")
    if isinstance(record, MX):
        host = record.exchange.to_text(omit_final_dot=True).lower()
        return f"{record.preference} {host}"
    return record.to_text()
