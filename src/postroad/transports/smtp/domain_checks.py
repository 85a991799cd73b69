"""Checks of a sender's domain: SPF, DKIM, DMARC, MX and reverse names, each with how to mend it."""

from collections.abc import Coroutine, Sequence
from ipaddress import ip_address
from typing import Final

from msgspec import Struct

from postroad.transports.smtp.resolver import DnsResolver, NoSuchName
from postroad.transports.webhook.resolving import Unresolved

LOOKUPS_MAX: Final = 10
"""What receivers ask for one SPF record at most (RFC 7208, 4.6.4)."""
TERMS_MAX: Final = 100
ASKS: Final = ("include:", "redirect=", "exists:", "a", "mx", "ptr")
SHOWN: Final = 100
HOSTS_MAX: Final = 5


class DomainFinding(Struct, frozen=True):
    """What was found of one part, and what to do. `state` is ok, warn or fail."""

    part: str
    state: str
    found: str
    mend: str = ""


async def check_domain(
    domain: str, selectors: Sequence[str], resolver: DnsResolver
) -> list[DomainFinding]:
    """Look at all records of a domain. A name server that does not answer is a finding, too."""
    checks = [("SPF", _spf(domain, resolver)), ("DMARC", _dmarc(domain, resolver))]
    checks += [(f"DKIM {each}", _dkim(domain, each, resolver)) for each in selectors]
    found = [await _safely(part, check) for part, check in checks]
    if not selectors:
        mend = "Name the selector of your credential: --selector NAME."
        found.append(DomainFinding("DKIM", "warn", "No selector was named.", mend))
    return [*found, *await _servers(domain, resolver)]


async def _safely(part: str, check: Coroutine[object, object, DomainFinding]) -> DomainFinding:
    try:
        return await check
    except Unresolved as error:
        return DomainFinding(part, "fail", f"{error}.", "Ask again when name servers answer.")


async def _spf(domain: str, resolver: DnsResolver) -> DomainFinding:
    texts = [text for text in await resolver.txt(domain) if text.lower().startswith("v=spf1")]
    if not texts:
        mend = f'Set a TXT record of {domain}: "v=spf1 include:YOUR-RELAY -all".'
        return DomainFinding("SPF", "fail", "There is no SPF record.", mend)
    if len(texts) > 1:
        mend = "Keep one of them: receivers refuse a domain with several."
        return DomainFinding("SPF", "fail", f"There are {len(texts)} SPF records.", mend)
    asked = await _lookups(texts[0], resolver, {domain})
    if asked > LOOKUPS_MAX:
        mend = "Write addresses (ip4:, ip6:) in place of some includes."
        why = f"It needs more than {LOOKUPS_MAX} look-ups, which receivers refuse."
        return DomainFinding("SPF", "fail", why, mend)
    last = texts[0].lower().split()[-1]
    if last in ("+all", "all"):
        return DomainFinding("SPF", "fail", "It lets everybody send.", 'End it with "-all".')
    if last not in ("-all", "~all") and "redirect=" not in texts[0]:
        mend = 'End it with "-all", or "~all" while you try it out.'
        return DomainFinding("SPF", "warn", f"It ends with {last[:SHOWN]!r}.", mend)
    return DomainFinding("SPF", "ok", texts[0][:SHOWN])


async def _lookups(record: str, resolver: DnsResolver, seen: set[str]) -> int:
    """Count the look-ups of a record with those it includes, up to one too many."""
    asked = 0
    for term in record.lower().split()[1:TERMS_MAX]:
        plain = term.lstrip("+-~?")
        if plain.split(":")[0].split("/")[0] in ASKS or plain.startswith(ASKS[:3]):
            asked += 1
        name = plain.partition(":")[2] if plain.startswith("include:") else ""
        name = name or (plain.partition("=")[2] if plain.startswith("redirect=") else "")
        if name and name not in seen and len(seen) <= LOOKUPS_MAX:
            seen.add(name)
            inner = [t for t in await resolver.txt(name) if t.lower().startswith("v=spf1")]
            asked += await _lookups(inner[0], resolver, seen) if inner else 0
        if asked > LOOKUPS_MAX:
            break
    return asked


async def _dmarc(domain: str, resolver: DnsResolver) -> DomainFinding:
    name = f"_dmarc.{domain}"
    texts = [text for text in await resolver.txt(name) if text.lower().startswith("v=dmarc1")]
    if len(texts) != 1:
        mend = f'Set one TXT record of {name}: "v=DMARC1; p=none; rua=mailto:YOU@{domain}".'
        return DomainFinding("DMARC", "fail", f"There are {len(texts)} DMARC records.", mend)
    tags = dict(part.strip().lower().partition("=")[::2] for part in texts[0].split(";"))
    policy = tags.get("p", "").strip()
    if policy not in ("none", "quarantine", "reject"):
        mend = "Write p=none, p=quarantine or p=reject."
        return DomainFinding("DMARC", "fail", f"Its policy is {policy[:SHOWN]!r}.", mend)
    if policy == "none":
        mend = "Raise it to p=quarantine when its reports show that all of your mail passes."
        return DomainFinding("DMARC", "warn", "Its policy is none.", mend)
    return DomainFinding("DMARC", "ok", texts[0][:SHOWN])


async def _dkim(domain: str, selector: str, resolver: DnsResolver) -> DomainFinding:
    part, name = f"DKIM {selector}", f"{selector}._domainkey.{domain}"
    texts = await resolver.txt(name)
    tags = [dict(p.strip().partition("=")[::2] for p in text.split(";")) for text in texts]
    keys = [tag["p"].strip() for tag in tags if "p" in tag]
    if not keys:
        mend = f"Set a TXT record of {name} with the public key of your credential."
        return DomainFinding(part, "fail", "There is no key.", mend)
    if not keys[0]:
        mend = "Its key was revoked: set a new one, or sign with another selector."
        return DomainFinding(part, "fail", "The key is empty.", mend)
    return DomainFinding(part, "ok", texts[0][:SHOWN])


async def _servers(domain: str, resolver: DnsResolver) -> list[DomainFinding]:
    try:
        records = await resolver.mx(domain)
    except NoSuchName:
        return [DomainFinding("MX", "fail", f"{domain} does not exist.", "Register it first.")]
    except (Unresolved, ValueError) as error:
        mend = "Ask again when name servers answer."
        return [DomainFinding("MX", "fail", f"{error}.", mend)]
    if not records:
        mend = "Set MX records: bounces and answers come back to this domain."
        return [DomainFinding("MX", "warn", "There is no MX record.", mend)]
    hosts = [record.host for record in records][:HOSTS_MAX]
    found = [DomainFinding("MX", "ok", ", ".join(hosts)[:SHOWN])]
    return found + [
        await _safely(f"reverse name of {host}", _reverse(host, resolver)) for host in hosts
    ]


async def _reverse(host: str, resolver: DnsResolver) -> DomainFinding:
    part = f"reverse name of {host}"
    for address in await resolver(host):
        names = await resolver.ptr(ip_address(address).reverse_pointer)
        if not names:
            mend = f"Let the owner of {address} set its reverse name to {host}."
            return DomainFinding(part, "warn", f"{address} has none.", mend)
    return DomainFinding(part, "ok", "Every address has one.")
