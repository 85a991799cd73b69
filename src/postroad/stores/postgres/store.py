"""The PostgreSQL store: the verbs of all rooms, on one database."""

from postroad.stores.postgres.control import ControlVerbs
from postroad.stores.postgres.inbox import InboxVerbs
from postroad.stores.postgres.leases import LeaseVerbs
from postroad.stores.postgres.recording import RecordVerbs
from postroad.stores.postgres.upkeep import UpkeepVerbs


class PostgresStore(InboxVerbs, LeaseVerbs, RecordVerbs, UpkeepVerbs, ControlVerbs):
    """One database, many processes."""
