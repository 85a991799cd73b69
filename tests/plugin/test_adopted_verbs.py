"""The verbs of a program's own road, as its handlers use them, in a test that has adopted it."""

from pathlib import Path

import pytest

from postroad import Message, Postroad
from postroad import sync as blocking
from postroad.errors import NotOpen
from postroad.testing import Rehearsal


def test_what_a_handler_sends_by_its_own_road_goes_to_the_test(
    tmp_path: Path, road: Rehearsal
) -> None:
    own, told, seen = Postroad(f"sqlite:///{tmp_path}/own.db"), list[object](), list[int]()

    @own.handler("order")
    async def order(message: Message[int]) -> None:
        receipt = await own.send("mail", message.body)
        told.append((await own.explain(receipt.id)).id == receipt.id)
        await own.batch([("mail", 8)], then=("mail", 9))
        told.append(len((await own.dead.list()).messages))

    @own.handler("mail")
    async def mail(message: Message[int]) -> None:
        seen.append(message.body)

    road.adopt(own)
    road.send("order", 7)
    road.deliver_all()
    road.assert_sent("mail", 7, count=1)
    assert told == [True, 0]
    assert sorted(seen) == [7, 8, 9]
    assert not (tmp_path / "own.db").exists()


def test_what_a_plain_handler_sends_by_its_own_road_goes_to_the_test(
    tmp_path: Path, road: Rehearsal
) -> None:
    own, told, seen = blocking.Postroad(f"sqlite:///{tmp_path}/own.db"), list[object](), list[int]()

    @own.handler("order")
    def order(message: Message[int]) -> None:
        receipt = own.send("mail", message.body)
        told.append(own.explain(receipt.id).id == receipt.id)
        told.append(len(own.dead.list().messages))

    @own.handler("mail")
    def mail(message: Message[int]) -> None:
        seen.append(message.body)

    road.adopt(own)
    road.send("order", 7)
    road.deliver_all()
    assert (told, seen) == ([True, 0], [7])
    own.send("mail", 8)  # from the test itself
    road.deliver_all()
    assert seen[-1] == 8


def test_after_the_test_the_road_of_the_program_is_its_own_again(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = Postroad(f"sqlite:///{tmp_path}/own.db")
    own.handler("mail")(lambda _message: None)
    before = dict(vars(own))
    with Rehearsal(tmp_path_factory.mktemp("test") / "road.db") as road:
        road.adopt(own)
    assert dict(vars(own)) == before
    with pytest.raises(NotOpen), Rehearsal(tmp_path_factory.mktemp("test") / "road.db") as road:
        road.run(own.send("mail", 1))
