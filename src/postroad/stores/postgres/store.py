"""The PostgreSQL store: what engines do, what users ask, what is kept beside messages."""

from postroad.stores.audit import AuditTable
from postroad.stores.postgres.bodies import PostgresBodies
from postroad.stores.postgres.deadset import PostgresDeadSet
from postroad.stores.postgres.endpoint_life import PostgresEndpointLife
from postroad.stores.postgres.erasing import PostgresErasing
from postroad.stores.postgres.events import PostgresEvents
from postroad.stores.postgres.feeds import PostgresFeeds
from postroad.stores.postgres.insight import PostgresInsight
from postroad.stores.postgres.job_outputs import PostgresJobOutputs
from postroad.stores.postgres.leases import PostgresLeases
from postroad.stores.postgres.listing import PostgresListing
from postroad.stores.postgres.mailboxes import PostgresMailboxes
from postroad.stores.postgres.overview import PostgresOverview
from postroad.stores.postgres.pacing import PostgresPacing
from postroad.stores.postgres.recipients import PostgresRecipients
from postroad.stores.postgres.recording import PostgresRecording
from postroad.stores.postgres.replays import PostgresReplays
from postroad.stores.postgres.rollups import PostgresRollups
from postroad.stores.postgres.sending import PostgresBlobs, PostgresSending
from postroad.stores.postgres.ticks import PostgresTicks
from postroad.stores.postgres.upkeep import PostgresUpkeep
from postroad.stores.postgres.usage import PostgresUsage
from postroad.stores.postgres.webhooks import PostgresWebhooks
from postroad.stores.private_headers import StoredHeaders
from postroad.stores.restoring import RestorationTable
from postroad.stores.rules import RuleTable
from postroad.stores.suppressions import SuppressionTable
from postroad.stores.tenants import TenantTable
from postroad.stores.tokens import TokenTable


class PostgresStore(
    PostgresSending,
    PostgresLeases,
    PostgresRecording,
    PostgresUpkeep,
    PostgresPacing,
    PostgresErasing,
    PostgresDeadSet,
    PostgresInsight,
    PostgresOverview,
    PostgresRollups,
    PostgresListing,
    PostgresBodies,
    PostgresJobOutputs,
    PostgresRecipients,
    PostgresTicks,
    AuditTable,
    StoredHeaders,
    PostgresMailboxes,
    RuleTable,
    PostgresBlobs,
    TokenTable,
    TenantTable,
    RestorationTable,
    SuppressionTable,
    PostgresUsage,
    PostgresWebhooks,
    PostgresEndpointLife,
    PostgresEvents,
    PostgresFeeds,
    PostgresReplays,
):
    """A road in one database that many processes share."""
