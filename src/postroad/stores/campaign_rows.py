"""Rows of either database as values."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from postroad.model.campaign import (
    Campaign,
    CampaignState,
    Counts,
    Recipient,
    RowState,
    Spec,
    WrongState,
)
from postroad.model.credential import Credential, CredentialSpec
from postroad.ports.campaigns import Import

SPECS: Final = msgspec.json.Decoder(Spec)
CREDENTIAL_SPECS: Final = msgspec.json.Decoder(CredentialSpec)
COLUMNS: Final = msgspec.json.Decoder(tuple[str, ...])
CHANGED: Final = "the campaign is no draft any more, or has got other columns: look at it again"
NOT_OURS: Final = "this import was discarded, or somebody else goes on with it"


def same_file(current: Import, new: Import) -> None:
    """Only the same file goes on with an import."""
    if (current.digest, current.columns) != (new.digest, new.columns):
        raise WrongState(
            f"an import of another file stands at line {current.line}: give that file again "
            "to finish it, or discard it"
        )


def text(value: object) -> str:
    """As JSON."""
    return msgspec.json.encode(value).decode()


def read_campaign(row: Sequence[Any]) -> Campaign:
    """A campaign from its row."""
    number, tenant, name, credential, spec, columns, state, reason, halts, start_at, *rest = row
    *counts, created_at, started_at, ended_at = rest
    total, sent, failed, uncertain, undelivered, suppressed, temporary = counts
    unsent = total - sent - failed - uncertain - suppressed
    return Campaign(
        number,
        tenant,
        name,
        credential,
        SPECS.decode(spec),
        COLUMNS.decode(columns),
        CampaignState(state),
        reason,
        bool(halts),
        start_at,
        Counts(total, unsent, sent, failed, uncertain, undelivered, suppressed, temporary),
        created_at,
        started_at,
        ended_at,
    )


def read_credential(row: Sequence[Any]) -> Credential:
    """A credential from its row."""
    number, tenant, name, kind, spec, *rest = row
    return Credential(number, tenant, name, kind, CREDENTIAL_SPECS.decode(spec), *rest)


def read_recipient(row: Sequence[Any]) -> tuple[Recipient, str]:
    """A recipient and its cells from its row."""
    n, line, recipient, state, *rest, fields = row
    return Recipient(n, line, recipient, RowState(state), *rest), fields


def read_import(row: Sequence[Any]) -> Import:
    """An import from its row."""
    campaign, digest, columns, *rest = row
    return Import(campaign, digest, COLUMNS.decode(columns), *rest)


def read_exact(rows: Sequence[Sequence[Any]]) -> Counts:
    """Counts from rows of (state, count, undelivered)."""
    by = {state: count for state, count, _ in rows}
    total, undelivered = sum(by.values()), sum(row[2] for row in rows)
    states = ("unsent", "sent", "failed", "uncertain")
    unsent, sent, failed, uncertain = (by.get(state, 0) for state in states)
    rest = (undelivered, by.get("suppressed", 0))
    return Counts(total, unsent, sent, failed, uncertain, *rest)
