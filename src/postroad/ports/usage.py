"""Counts what a tenant has."""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class CountedKind(StrEnum):
    """What is counted of a tenant. Those without a limit are counted for people."""

    queues = "queues"
    lanes = "lanes"
    mailboxes = "mailboxes"
    campaigns = "campaigns"
    imports = "imports"
    attachments_bytes = "attachments_bytes"
    endpoints = "endpoints"
    waiting = "waiting"
    letters = "letters"
    live_campaigns = "live_campaigns"
    timetables = "timetables"


class Slice(Struct, frozen=True):
    """Some of the stored messages, by tenant: how many, and how many bytes."""

    found: list[tuple[str, int, int]]
    last: int
    """The id up to which they were counted; 0 after the last one."""
    own: dict[str, dict[str, int]] = {}
    """The limits of those tenants among them that have their own."""


class Usage(Protocol):
    """Counts for the limits of tenants."""

    async def tenant_has(self, kept: CountedKind, tenant: str, most: int) -> int:
        """Count what a tenant has, up to `most`."""

    async def stored(self, after: int, limit: int) -> Slice:
        """Count the next `limit` unfinished messages of all tenants, in order of id."""
