"""Pages over a road on a broker: what it does not keep is left out."""

from pathlib import Path

from tests.dashboard.stand import PageStand
from tests.rabbitmq.roads import running, until_state


async def test_the_page_of_a_message_is_shown(dsn: str, tmp_path: Path) -> None:
    state = f"sqlite:///{tmp_path / 'state.db'}"
    async with PageStand(tmp_path, dsn=f"{dsn}?state={state}") as stand:
        await stand.login()
        number = await stand.send("bad")
        async with running(stand.road):
            await until_state(stand.road, number, "dead")
        page = await stand.get(f"/messages/{number}")
        assert page.status == 200, page.content
        assert number in page.content.decode()
        assert "keeps none" not in page.content.decode()
