"""postfix, mail-kills: mail at full size."""

import asyncio
import tempfile
import time
from pathlib import Path

from proof.campaigns import reached_of, say
from proof.shape import Reached
from tests.mail.mail_kills import mail_kills
from tests.mail.postfix_run import postfix_run
from tests.servers.postgres import PrivatePostgres

MAILS = 10_000
RECIPIENTS, KILLS = 20_000, 20


def prove_postfix(_seconds: float) -> Reached:
    """10,000 mails arrive once, by Postfix's own Maildir and log."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(postfix_run(Path(folder), MAILS))
    for breach in found:
        say(breach)
    return Reached(floor=MAILS, reached=MAILS if not found else 0, broken=len(found))


def prove_kills(_seconds: float) -> Reached:
    """20,000 recipients by mail, processes killed 20 times."""
    with PrivatePostgres() as server, tempfile.TemporaryDirectory() as folder:
        run = asyncio.run(
            mail_kills(
                server.create_database(),
                Path(folder),
                recipients=RECIPIENTS,
                kills=KILLS,
                seed=int(time.time()),
            )
        )
    return reached_of(run, RECIPIENTS)
