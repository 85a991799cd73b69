"""The table of each group of verbs: a new verb gets its line there, a new group its line here. A
verb without one is refused by name."""

from typing import Final

from postroad.remote import (
    batch_tables,
    campaign_tables,
    event_tables,
    job_tables,
    rule_tables,
    tables,
    timetable_tables,
)
from postroad.remote.calls import Verbs

GROUPS: Final[dict[str, Verbs]] = {
    "attachments": campaign_tables.ATTACHMENTS,
    "audit": tables.AUDIT,
    "batches": batch_tables.BATCHES,
    "campaigns": campaign_tables.CAMPAIGNS,
    "credentials": campaign_tables.CREDENTIALS,
    "dead": tables.DEAD,
    "endpoints": event_tables.ENDPOINTS,
    "event_types": event_tables.EVENT_TYPES,
    "events": event_tables.EVENTS,
    "inspect": tables.INSPECTION,
    "jobs": job_tables.JOBS,
    "lanes": tables.LANES,
    "limits": tables.LIMITS,
    "mailboxes": tables.MAILBOXES,
    "messages": tables.MESSAGES,
    "portal": tables.PORTAL,
    "privacy": campaign_tables.PRIVACY,
    "replays": event_tables.REPLAYS,
    "rollups": tables.ROLLUPS,
    "rules": rule_tables.RULES,
    "sessions": tables.SESSIONS,
    "suppressions": campaign_tables.SUPPRESSIONS,
    "tenants": tables.TENANTS,
    "timetables": timetable_tables.TIMETABLES,
    "tokens": tables.TOKENS,
    "webhooks": tables.WEBHOOKS,
    "workers": tables.WORKERS,
}
