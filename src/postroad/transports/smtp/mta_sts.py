"""MTA-STS (RFC 8461): a domain's word that its servers have certificates, and which servers."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.errors import PostroadError
from postroad.transports.smtp.resolver import DnsResolver
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.requests import whole, written
from postroad.transports.webhook.resolving import Unresolved

POLICY_BYTES_MAX: Final = 64 << 10
LINES_MAX: Final = 200
PATTERNS_MAX: Final = 100
ID_MAX: Final = 32
ASK_AGAIN_S: Final = 3_600.0
HELD_MAX_S: Final = 31_557_600
DIGITS_MAX: Final = 10
KEPT_MAX: Final = 10_000

Fetch = Callable[[str], Awaitable[bytes]]
"""Returns the policy file of a domain; raises PostroadError or OSError when it cannot be had."""


class Mode(StrEnum):
    """How much a domain's policy asks for."""

    none = "none"
    testing = "testing"
    enforce = "enforce"


class StsPolicy(Struct, frozen=True):
    """Which servers a domain names, and for how long."""

    mode: Mode
    patterns: tuple[str, ...] = ()
    max_age_s: int = 0

    def names(self, host: str) -> bool:
        """Whether the policy names this server."""
        parent = host.partition(".")[2]
        return host in self.patterns or f"*.{parent}" in self.patterns


NO_POLICY: Final = StsPolicy(Mode.none)


class Held(Struct, frozen=True):
    """A policy with its id, when it is asked for again, and until when it holds."""

    policy: StsPolicy
    id: str
    again_s: float
    until_s: float


def read_policy(data: bytes) -> StsPolicy:
    """Read a policy file. One that cannot be read is none."""
    values: dict[str, str] = {}
    patterns: list[str] = []
    text = data[:POLICY_BYTES_MAX].decode("ascii", "replace")
    for line in text.split("\n", LINES_MAX)[:LINES_MAX]:
        name, mark, value = line.strip().partition(":")
        if mark and name.strip() == "mx":
            patterns.append(value.strip().lower())
        elif mark:
            values.setdefault(name.strip(), value.strip())
    age, mode = values.get("max_age", ""), values.get("mode", "")
    known = values.get("version") == "STSv1" and mode in set(Mode)
    if not known or not age.isdecimal() or len(age) > DIGITS_MAX:
        return NO_POLICY
    return StsPolicy(Mode(mode), tuple(patterns[:PATTERNS_MAX]), min(int(age), HELD_MAX_S))


def read_id(texts: Sequence[str]) -> str:
    """Read the id of a domain's policy from its TXT records; empty when it has none."""
    found = [text for text in texts if text.startswith("v=STSv1")]
    if len(found) != 1:
        return ""
    for pair in found[0].split(";", 10):
        name, _, value = pair.strip().partition("=")
        if name.strip() == "id" and value.strip().isalnum() and len(value.strip()) <= ID_MAX:
            return value.strip()
    return ""


class StsPolicies:
    """The policies of domains, kept in memory for as long as they say."""

    def __init__(self, resolver: DnsResolver, fetch: Fetch) -> None:
        self._resolver = resolver
        self._fetch = fetch
        self._held: OrderedDict[str, Held] = OrderedDict()

    async def of(self, domain: str) -> StsPolicy:
        """Return what holds for a domain now."""
        now_s = asyncio.get_running_loop().time()
        held = self._held.get(domain)
        if held is None or held.again_s <= now_s:
            held = await self._ask(domain, held, now_s)
            self._held[domain] = held
            self._held.move_to_end(domain)
            if len(self._held) > KEPT_MAX:
                self._held.popitem(last=False)
        return held.policy

    async def _ask(self, domain: str, held: Held | None, now_s: float) -> Held:
        valid = held if held is not None and held.until_s > now_s else None
        again_s = now_s + ASK_AGAIN_S
        old = valid or Held(NO_POLICY, "", again_s, now_s)
        kept = Held(old.policy, old.id, again_s, old.until_s)
        try:
            number = read_id(await self._resolver.txt(f"_mta-sts.{domain}"))
            if not number:
                return kept
            if valid is not None and number == valid.id:
                return Held(valid.policy, number, again_s, now_s + valid.policy.max_age_s)
            policy = read_policy(await self._fetch(domain))
        except (Unresolved, PostroadError, OSError):
            return kept  # what was known stays; who was unknown may be asked again in an hour
        if policy is NO_POLICY:
            return kept
        return Held(policy, number, again_s, now_s + policy.max_age_s)


class HttpsFile:
    """Fetches files from vetted addresses, with a certificate that holds."""

    def __init__(self, http: VettedHttp) -> None:
        self._http = http

    async def fetch(self, domain: str) -> bytes:
        """Return a domain's policy file. Raises OSError when it has none."""
        return await self.get(f"https://mta-sts.{domain}/.well-known/mta-sts.txt")

    async def get(self, url: str) -> bytes:
        """Return a file. Raises OSError when there is none."""
        target = self._http.target(url)
        try:
            answer = await self._http.call(target, whole(written("GET", target, {}), b""))
        except Fault as fault:
            raise OSError(fault.name) from None
        if answer.status != 200 or answer.broken:
            raise OSError(f"{target.url} answered {answer.status}")
        return answer.body
