"""What recipients take from mailboxes is counted among the fleet's figures."""

from pathlib import Path

from postroad import Postroad
from postroad.hub.pump import FAMILY
from tests.hub.serving import serving, some_boxes


async def test_what_recipients_take_is_counted_by_tenant(tmp_path: Path) -> None:
    path = tmp_path / "road.db"
    async with serving(path) as served, served.client() as client:
        (box,) = await some_boxes(client, 1)
        for n in range(3):
            await client.send(box.box, box.sender_token, str(n))
        await client.subscribe({box.box: box.recipient_token})
        messages = aiter(client)
        for _ in range(2):
            assert await (await anext(messages)).ack()
    async with Postroad(f"sqlite:///{path}") as road:
        (point,) = (await road.rollups.list(by="family")).points
        assert (point.name, point.tries) == (FAMILY, {"delivered": 2})
        (hour,) = (await road.rollups.list(step="1h", by="queue", tenant="default")).points
        assert hour.tries == {"delivered": 2}
