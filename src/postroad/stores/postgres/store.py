"""The PostgreSQL store: what engines do, what users ask, what is kept beside messages."""

from postroad.stores.postgres.bodies import PostgresBodies
from postroad.stores.postgres.control import PostgresControl
from postroad.stores.postgres.deadset import PostgresDeadSet
from postroad.stores.postgres.insight import PostgresInsight
from postroad.stores.postgres.leases import PostgresLeases
from postroad.stores.postgres.listing import PostgresListing
from postroad.stores.postgres.mailboxes import PostgresMailboxes
from postroad.stores.postgres.overview import PostgresOverview
from postroad.stores.postgres.pacing import PostgresPacing
from postroad.stores.postgres.private_headers import PostgresHeaders
from postroad.stores.postgres.recording import PostgresRecording
from postroad.stores.postgres.sending import PostgresSending
from postroad.stores.postgres.ticks import PostgresTicks
from postroad.stores.postgres.tokens import PostgresTokens
from postroad.stores.postgres.upkeep import PostgresUpkeep
from postroad.stores.postgres.usage import PostgresUsage
from postroad.stores.postgres.webhooks import PostgresWebhooks


class PostgresStore(
    PostgresSending,
    PostgresLeases,
    PostgresRecording,
    PostgresUpkeep,
    PostgresPacing,
    PostgresControl,
    PostgresDeadSet,
    PostgresInsight,
    PostgresOverview,
    PostgresListing,
    PostgresBodies,
    PostgresTicks,
    PostgresHeaders,
    PostgresMailboxes,
    PostgresTokens,
    PostgresUsage,
    PostgresWebhooks,
):
    """A road in one database that many processes share."""
