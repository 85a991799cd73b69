"""`postroad doctor`: what is set up, what is wrong, and how to fix it."""

from typing import Annotated, Final

from click.exceptions import Exit

from postroad.api.finding import Finding
from postroad.cli.command import BareInvocation, Commands, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.model.credential import BadCredential
from postroad.model.errors import BadInput

MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗"}


def add(app: Group) -> None:
    """Add the commands."""
    commands: Commands = {"road": doctor, "mail": mail}
    text = "What is set up, what is wrong, and how to fix it."
    add_group(app, "doctor", "Look after it", text, commands, otherwise="road")


def doctor(call: Listing) -> None:
    """Check settings, port, certificate, disk, store, schema, clock, notifications, workers,
    circuits, the dead set and tokens, and say how to fix what is wrong. With --server that server
    is asked. The exit code is 1 if something is broken."""
    from postroad.cli.checks import run_checks  # with stores and drivers

    _show(call, run_checks(call))


def mail(
    call: Listing,
    domain: Annotated[str, Argument(help="The domain that you send from.")],
    selector: Annotated[
        list[str] | None, Option(help="A DKIM selector of your credential; may be repeated.")
    ] = None,
    credential: Annotated[str, Option(help="Take the selectors of this credential.")] = "",
) -> None:
    """Check SPF, DKIM, DMARC, MX and reverse names of a domain by its name servers, and say how to
    fix what is wrong. The exit code is 1 if something is broken."""
    import asyncio

    from postroad.model.mail_address import normal_mail
    from postroad.transports.smtp.domain_checks import check_domain
    from postroad.transports.smtp.resolver import DnsResolver

    name = normal_mail(f"postmaster@{domain}").rpartition("@")[2]
    selectors = [*(selector or ()), *_selectors(call, credential, name)]
    found = asyncio.run(check_domain(name, selectors, DnsResolver()))
    _show(call, [Finding(each.part, each.state, each.found, each.mend) for each in found])


def _selectors(call: Listing, credential: str, domain: str) -> list[str]:
    """The selectors that a credential signs a domain's mails with."""
    if not credential:
        return []
    known = {one["name"]: one for one in call.ask("GET", "/v1/credentials")}
    if credential not in known:
        raise BadCredential(f"no credential {credential!r}: see `postroad credential list`")
    options, sender = known[credential]["options"], known[credential]["sender"]
    signs = options.get("dkim_domain") or sender.rpartition("@")[2].rstrip("> ")
    names = [one.strip() for one in options.get("dkim_selector", "").split(",") if one.strip()]
    if not names or signs.lower() != domain:
        raise BadInput(
            f"credential {credential!r} signs {f'for {signs}' if names else 'nothing'}, not for "
            f"{domain}: give it dkim_key, dkim_selector and dkim_domain"
        )
    return names


def _show(call: BareInvocation, findings: list[Finding]) -> None:
    if not call.printed(findings):
        rows = [(MARKS[each.state], each.part, each.found, each.mend) for each in findings]
        call.table(("", "part", "found~", "how to fix it~"), rows)
    if any(each.state == "fail" for each in findings):
        raise Exit(1)
