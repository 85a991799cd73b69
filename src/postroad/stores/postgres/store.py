"""The PostgreSQL store: the verbs of all rooms, on one database."""

from postroad.stores.postgres.control import ControlVerbs
from postroad.stores.postgres.deadset import DeadVerbs
from postroad.stores.postgres.insight import InsightVerbs
from postroad.stores.postgres.leases import LeaseVerbs
from postroad.stores.postgres.mailboxes import MailboxVerbs
from postroad.stores.postgres.overview import OverviewVerbs
from postroad.stores.postgres.pacing import PaceVerbs
from postroad.stores.postgres.private_headers import HeaderVerbs
from postroad.stores.postgres.recording import RecordVerbs
from postroad.stores.postgres.sending import JoinVerbs
from postroad.stores.postgres.ticks import TickVerbs
from postroad.stores.postgres.tokens import TokenVerbs
from postroad.stores.postgres.upkeep import UpkeepVerbs
from postroad.stores.postgres.usage import UsageVerbs
from postroad.stores.postgres.webhooks import WebhookVerbs


class OwnerVerbs(LeaseVerbs, RecordVerbs, UpkeepVerbs, PaceVerbs):
    """What engines do."""


class AskerVerbs(ControlVerbs, DeadVerbs, InsightVerbs, OverviewVerbs, TickVerbs):
    """What users do, besides sending."""


class KeeperVerbs(HeaderVerbs, MailboxVerbs, TokenVerbs, UsageVerbs, WebhookVerbs):
    """What is kept beside messages."""


class PostgresStore(JoinVerbs, OwnerVerbs, AskerVerbs, KeeperVerbs):
    """One database, many processes."""
