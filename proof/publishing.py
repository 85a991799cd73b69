"""publish-kills: events reach every endpoint that matched while publishers, workers and the database are
killed, on both stores."""

import sys
import tempfile
import time
from pathlib import Path

from proof.shape import Reached
from tests.events.killing import KillReport, Story, publish_kills
from tests.events.plan import LARGEST
from tests.servers.postgres import PrivatePostgres
from tests.webhook.conftest import Receiver, end, start

EVENTS = 10_000
"""On each store."""
KILLS = 60
LARGEST_TENANT = 500


def prove(_seconds: float) -> Reached:
    """20,000 publishes to tenants with 1 to 500 endpoints."""
    LARGEST["size"] = LARGEST_TENANT
    seed = int(time.time())
    with PrivatePostgres() as server:
        reports = [
            _once(None, Story(EVENTS, KILLS, 1, seed)),
            _once(server, Story(EVENTS, KILLS, 3, seed + 1)),
        ]
    broken = sum(len(each.breaches) for each in reports)
    return Reached(floor=2 * EVENTS, reached=sum(r.published for r in reports), broken=broken)


def _once(server: PrivatePostgres | None, story: Story) -> KillReport:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process, told = start("app_process", str(folder / "log"))
        receiver = Receiver(told["port"], folder / "log")
        try:
            dsn = server.create_road() if server else f"sqlite:///{folder}/road.db"
            crash = (lambda: server.restart("immediate")) if server else None
            report = publish_kills(dsn, receiver, folder, story, crash)
        finally:
            end(process)
    said = f"{report.published} published, {report.delivered} delivered, {report.repeats} repeats"
    sys.stdout.write(f"{said}, {report.kills} kills that cut off {report.cut} tries\n")
    sys.stdout.write("".join(f"{each}\n" for each in report.breaches[:20]))
    sys.stdout.flush()
    return report
