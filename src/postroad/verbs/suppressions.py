"""Suppression lists: add, remove, list, import, export."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from postroad.campaigns.importing import ImportLimits
from postroad.campaigns.reading import BadFile, LineProblem
from postroad.campaigns.suppression_files import FORMATS, SuppressionReader, head, written
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, UnknownSuppression
from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.suppression import (
    Reason,
    Suppression,
    SuppressionFilter,
    check_reason,
    normal_recipient,
)
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.mail_reports import MailReports, ReportTaken
from postroad.verbs.paging import PAGE_MAX, check_page
from postroad.verbs.tokens import check_tenant

DIGITS_MAX: Final = 18


class SuppressionPage(Struct, frozen=True):
    """A page of a list, the newest first. `after` is for the next page; "" is the end."""

    suppressions: tuple[Suppression, ...]
    after: str = ""


class ImportedSuppressions(Struct, frozen=True):
    """The result of an import: how many valid lines, how many of them were new."""

    rows: int
    added: int
    invalid: int
    problems: tuple[LineProblem, ...]


@bounded
class SuppressionVerbs:
    """Keep lists of recipients that are not sent to: one for each tenant, and with the tenant `*`
    one that holds for all."""

    def __init__(self, store: Store, reports: MailReports) -> None:
        self._store = store
        self._reports = reports
        self._clock = store.clock
        self.limits = ImportLimits()

    async def add(
        self,
        recipient: str,
        reason: str = Reason.by_hand,
        *,
        campaign: str = "",
        message: str = "",
        note: str = "",
        tenant: str = DEFAULT_TENANT,
    ) -> Suppression:
        """Send no more to a mail address or telephone number, in any writing of it. One that is on
        the list for this reason stays as it is."""
        check_tenant(tenant)
        whom, why = normal_recipient(recipient), check_reason(reason)
        source = (clean(campaign, NAME_CHARACTERS_MAX), clean(message, NAME_CHARACTERS_MAX))
        new = Suppression(tenant, whom, why, self._clock.now_ms(), *source, clean(note))
        _ = await self._store.suppress([new])  # whether it is new does not matter
        found = await self._store.suppression_page(tenant, SuppressionFilter(why, whom), 0, 1)
        return found[0] if found else new  # somebody else has taken it off

    async def remove(
        self, recipient: str, reason: str = "", *, tenant: str = DEFAULT_TENANT
    ) -> int:
        """Take a recipient off a list, for one reason or for all; returns how many entries went.
        UnknownSuppression if there was none."""
        check_tenant(tenant)
        whom, why = normal_recipient(recipient), _reason(reason)
        gone = await self._store.unsuppress(tenant, whom, why)
        if not gone:
            why_not = f" for the reason {why}" if why else ""
            raise UnknownSuppression(f"{whom!r} is not on this list{why_not}: list it to see")
        return gone

    async def list(
        self,
        *,
        reason: str = "",
        recipient: str = "",
        limit: int = 100,
        after: str = "",
        tenant: str = DEFAULT_TENANT,
    ) -> SuppressionPage:
        """A page of a list, the newest first: of one reason, or of one recipient."""
        check_page(limit)
        check_tenant(tenant)
        whom = normal_recipient(recipient) if recipient else ""
        which = SuppressionFilter(_reason(reason), whom)
        found = await self._store.suppression_page(tenant, which, _cursor(after), limit + 1)
        shown = tuple(found[:limit])
        return SuppressionPage(shown, str(shown[-1].id) if len(found) > limit else "")

    async def import_(
        self,
        path: str | Path,
        form: str = "csv",
        *,
        skip_invalid: bool = False,
        tenant: str = DEFAULT_TENANT,
    ) -> ImportedSuppressions:
        """Add all entries of a file, `csv` with a column `recipient` or `ndjson`. An invalid line
        fails the import, unless `skip_invalid`. A file may be imported again."""
        check_tenant(tenant)
        _check_form(form)
        file = Path(path)
        size = await asyncio.to_thread(lambda: file.stat().st_size if file.is_file() else 0)
        self.limits.check_bytes(size, file.name)
        checked = SuppressionReader(file, form, tenant, self._clock.now_ms())
        rows = await asyncio.to_thread(_count, checked)
        self.limits.check_rows(rows, file.name)
        if checked.invalid and not skip_invalid:
            raise _refused(file, checked)
        added = 0
        batches = SuppressionReader(file, form, tenant, self._clock.now_ms()).batches()
        while batch := await asyncio.to_thread(next, batches, None):
            added += await self._store.suppress(batch)
        return ImportedSuppressions(rows, added, checked.invalid, tuple(checked.problems))

    async def take_report(
        self, mail: bytes, *, to: str = "", tenant: str = DEFAULT_TENANT
    ) -> ReportTaken:
        """Take a mail that came back: a bounce (RFC 3464) or a complaint (RFC 5965) about a message
        of this road. Hard bounces and complaints put the recipient on the list. `to`: the address
        that it was sent to."""
        return await self._reports.take(mail, to, tenant)

    async def export(
        self, form: str = "csv", *, reason: str = "", tenant: str = DEFAULT_TENANT
    ) -> AsyncIterator[str]:
        """Export a list as `csv` or `ndjson`, in pieces; `import_` reads it."""
        check_tenant(tenant)
        _check_form(form)
        which, after = SuppressionFilter(_reason(reason)), 0
        yield head(form)
        while page := await self._store.suppression_page(tenant, which, after, PAGE_MAX):
            after = page[-1].id
            yield written(page, form)


def _count(reader: SuppressionReader) -> int:
    try:
        return sum(len(batch) for batch in reader.batches())
    except OSError as error:
        raise BadFile(f"the file cannot be read: {error.strerror}") from None


def _refused(file: Path, checked: SuppressionReader) -> BadFile:
    first = min(checked.problems, key=lambda one: one.line)
    more = f" (and {checked.invalid - 1} more)" if checked.invalid > 1 else ""
    return BadFile(
        f"{file.name}, line {first.line}: {first.reason}{more}; nothing was imported",
        tuple(checked.problems),
    )


def _reason(text: str) -> str:
    return check_reason(text) if text else ""


def _check_form(form: str) -> None:
    if form not in FORMATS:
        raise BadInput(f"format {form!r}: there are {', '.join(FORMATS)}")


def _cursor(after: str) -> int:
    if after and not (after.isascii() and after.isdecimal() and len(after) <= DIGITS_MAX):
        raise BadInput(f"after={after[:40]!r}: give the `after` of the page before")
    return int(after or 0)
