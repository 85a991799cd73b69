"""What campaign tests do over and over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import UnknownQueue
from postroad.model.mail_settings import MailSettings
from postroad.model.webhook import WebhookRules
from postroad.verbs.campaign_status import CampaignStatus
from tests.campaigns.provider import TOKEN, Provider

WAIT_S = 120.0
LOCAL = Settings(
    log_level="warning",
    webhooks=WebhookRules(allow=("127.0.0.1/32",), http=True, ports=()),
    mail=MailSettings(allow=("127.0.0.1/32",)),
)
"""A road that may call the provider on this machine."""


def local(dsn: str) -> Postroad:
    return Postroad(dsn, settings=LOCAL)


def numbers(count: int, prefix: str = "+1600") -> list[str]:
    return [f"{prefix}{n:07d}" for n in range(count)]


def write_csv(path: Path, recipients: list[str]) -> Path:
    rows = [f"{recipient},Name {n}" for n, recipient in enumerate(recipients)]
    path.write_text("\n".join(["recipient,name", *rows]) + "\n")
    return path


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not await what():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def running(road: Postroad) -> AsyncIterator[Postroad]:
    """A road that runs beside the test."""
    road.hears_signals = False
    async with road:
        task = asyncio.create_task(road.run())
        try:
            yield road
        finally:
            road.stop()
            await task


async def prepare(
    road: Postroad,
    provider: Provider,
    folder: Path,
    recipients: list[str],
    name: str = "c",
    **options: object,
) -> None:
    """A credential and a campaign with recipients."""
    spec = provider.spec(
        **{key: options.pop(key) for key in ("rate", "callback") if key in options}
    )
    await road.credentials.put("main", spec, TOKEN)
    await draft(road, folder, recipients, name, **options)


async def draft(
    road: Postroad, folder: Path, recipients: list[str], name: str, **options: object
) -> None:
    await road.campaigns.create(name, credential="main", template="Hello {{ name }}", **options)  # type: ignore[arg-type]
    await road.campaigns.import_file(name, write_csv(folder / f"{name}.csv", recipients))


async def reaches(road: Postroad, state: str, name: str = "c") -> CampaignStatus:
    async def there() -> bool:
        return (await road.campaigns.show(name)).state == state

    await until(there)
    return await road.campaigns.show(name)


def used_up(road: Postroad, queue: str) -> Callable[[], Awaitable[bool]]:
    """Whether all slots of a queue's limit are taken. Those that came late were not used."""

    async def there() -> bool:
        try:
            facts = (await road.explain_queue(queue)).limits
        except UnknownQueue:
            return False  # nothing was sent yet
        return any(one.full_until_ms > road.store.clock.now_ms() for one in facts)

    return there
