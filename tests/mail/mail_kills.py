"""A campaign by mail whose senders are killed, and what its receiver saw."""

from pathlib import Path

from postroad import Postroad
from postroad.model.credential import CredentialSpec
from tests.campaigns.killing import ChannelRig, Killed, killed_run
from tests.campaigns.provider import Provider
from tests.campaigns.stories import write_csv


class MailReceiver(Provider):
    """The receiver, from outside."""

    MODULE = "tests.mail.receiver_process"

    @property
    def server(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"


def addresses(count: int) -> list[str]:
    return [f"n{number:07d}@example.com" for number in range(count)]


async def prepare(
    road: Postroad, receiver: Provider, folder: Path, recipients: list[str], jobs: int
) -> None:
    """A credential and a campaign with recipients."""
    spec = CredentialSpec(server=receiver.server, sender="Shop <shop@example.com>")
    await road.credentials.put("main", spec, kind="smtp")
    await road.campaigns.create(
        "c", credential="main", template="Hello {{ name }}", subject="Hi {{ name }}", jobs=jobs
    )
    await road.campaigns.import_file("c", write_csv(folder / "c.csv", recipients))


async def mail_kills(dsn: str, folder: Path, *, recipients: int, kills: int, seed: int) -> Killed:
    """All recipients by mail, through kills."""
    rig = ChannelRig(MailReceiver, addresses, prepare)
    return await killed_run(
        dsn, folder, recipients=recipients, kills=kills, stops=0, seed=seed, channel=rig
    )
