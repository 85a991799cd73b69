"""Each public verb, given something of a wrong type, says which parameter it is about."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from postroad import CredentialSpec, Limits, Postroad, Send, Settings, TenantLimits, WebhookRules
from postroad.model.errors import BadInput, BadSetting, PostroadError
from postroad.model.hubs import KnownHub
from postroad.verbs.bounding import parameters
from postroad.verbs.grouping import VerbGroup

Within = Callable[..., Any]
INNER = {"callback", "open", "secret", "get"}
"""What other rooms ask of a group, with values of theirs."""
OWN = (
    *("cancel", "cancel_all", "settle", "pause", "resume", "unblock", "limit"),
    *("explain", "explain_queue", "explain_lane"),
)
GOOD: dict[str, object] = {
    "at": datetime.now().astimezone(),
    "lane": 1,
    "limit": 1,
    "outcome": "sent",
    "rate": "1/s",
    "spec": CredentialSpec(""),
    "state": "sent",
    "what": "work",
}
"""Values of parameters beside the wrong one, where not any text will do."""


class Odd:
    """Nothing that a verb takes."""


def verbs() -> Iterator[tuple[str, str]]:
    for name in OWN:
        yield "", name
    for group, held in vars(Postroad).items():
        if isinstance(held, VerbGroup):
            for name, verb in vars(held.kind).items():
                if inspect.isfunction(verb) and not name.startswith("_") and name not in INNER:
                    yield group, name


def cases() -> Iterator[tuple[str, str, str]]:
    for group, name in verbs():
        kind = getattr(Postroad, group).kind if group else Postroad
        for parameter, takes in parameters(getattr(kind, name)).items():
            if takes.kinds:
                yield group, name, parameter


async def ask(road: Postroad, group: str, name: str, wrong: str) -> None:
    verb = getattr(getattr(road, group) if group else road, name)
    named: dict[str, object] = {wrong: Odd()}
    for parameter in inspect.signature(verb).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            named.setdefault(parameter.name, GOOD.get(parameter.name, "work"))
    answer = verb(**named)
    if isinstance(answer, AsyncIterator):
        async for _ in answer:
            return
    else:
        await answer


def test_each_public_verb_names_the_parameter_that_is_of_a_wrong_type(
    road: Postroad, within: Within
) -> None:
    """Never an AttributeError from somewhere inside."""
    asked = list(cases())
    assert len(asked) > 150
    assert {name for _, name, _ in asked} >= {"list", "edit", "make", "set", "replay", "put"}

    async def story() -> None:
        async with road:
            for group, name, parameter in asked:
                with pytest.raises((PostroadError, TypeError), match=parameter):
                    await ask(road, group, name, parameter)

    within(story())


def test_whatever_takes_a_list_takes_a_list() -> None:
    """Not a tuple alone, which the words of a refusal would call a list as well."""
    for group, name in verbs():
        kind = getattr(Postroad, group).kind if group else Postroad
        for parameter, takes in parameters(getattr(kind, name)).items():
            assert not (tuple in takes.kinds and takes.items), (group, name, parameter)


def test_what_a_list_holds_is_checked_and_secrets_are_not_shown(
    road: Postroad, within: Within
) -> None:
    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match="ids=: number 1 is an int: give a text"):
                await road.dead.purge(ids=["msg_0000000000001", 7])  # type: ignore[list-item]
            with pytest.raises(BadInput, match="since= is a str: give a datetime or None"):
                await road.dead.list(since="s3cret")  # type: ignore[arg-type]
            with pytest.raises(BadInput, match="secret= is a bytes: give a text") as told:
                await road.credentials.put("a", CredentialSpec(""), b"s3cret")  # type: ignore[arg-type]
            assert "s3cret" not in str(told.value)
            with pytest.raises(BadInput, match=r"list: there is no sinse=: did you mean 'since'\?"):
                await road.dead.list(sinse=None)  # type: ignore[call-arg]

    within(story())


def test_an_empty_name_is_refused_by_name(road: Postroad, within: Within) -> None:
    async def story() -> None:
        async with road:
            for send in (Send("", 1), ("", 1)):
                with pytest.raises(BadInput, match="queue is empty: give a handler's name"):
                    await road.send_many([send])
                (told,) = await road.send_each([send])
                assert isinstance(told, BadInput)
            with pytest.raises(BadInput, match="tenant is empty: give one, or leave it out"):
                await road.send("work", 1, tenant="")
            for ask in (
                lambda: road.pause(""),
                lambda: road.explain_queue(""),
                lambda: road.dead.purge(queue=""),
                lambda: road.campaigns.show(""),
            ):
                with pytest.raises(BadInput, match=r"(queue|name) is empty: give one"):
                    await ask()
            for ask_tenant in (road.inspect.queues, road.dead.list, road.tokens.list):
                with pytest.raises(BadInput, match="tenant is empty"):
                    await ask_tenant(tenant="")
            for name in ("queue", "prefix", "text", "order_key", "state"):
                with pytest.raises(BadInput, match=f"{name} is empty: give one"):
                    await road.messages.list(**{name: ""})  # type: ignore[arg-type]
            for name in ("actor", "verb", "tenant"):
                with pytest.raises(BadInput, match=f"{name} is empty: give one"):
                    await road.audit.list(**{name: ""})  # type: ignore[arg-type]

    road.handler("work")(lambda _message: None)
    within(story())


def test_nobody_cancels_everything_by_leaving_something_out(road: Postroad, within: Within) -> None:
    """`cancel_all(order_key=found or "")` cancelled all messages of the tenant."""

    async def story() -> None:
        async with road:
            await road.send("work", 1, delay=60)
            for which in ({}, {"queue": ""}, {"order_key": ""}):
                with pytest.raises(BadInput, match="say which: a queue, an order_key, or both"):
                    await road.cancel_all(**which)  # type: ignore[arg-type]
            assert (await road.inspect.queues()).queues[0].waiting == 1

    road.handler("work")(lambda _message: None)
    within(story())


def test_send_each_takes_what_send_many_takes(road: Postroad, within: Within) -> None:
    road.handler("work")(lambda _message: None)

    async def story() -> None:
        async with road:
            assert len(await road.send_each([("work", 1), Send("work", 2)])) == 2
            with pytest.raises(BadInput, match="neither a Send"):
                await road.send_each([7])  # type: ignore[list-item]

    within(story())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Limits(windw=3), r"Limits has no setting 'windw': did you mean 'window'\?"),  # type: ignore[call-arg]
        (lambda: Settings(log_levle="info"), "did you mean 'log_level'"),  # type: ignore[call-arg]
        (lambda: Settings(typo=1), "Settings has no setting 'typo'"),  # type: ignore[call-arg]
        (lambda: TenantLimits(queue_max=1), "did you mean 'queues_max'"),  # type: ignore[call-arg]
        (lambda: WebhookRules(alow=()), "did you mean 'allow'"),  # type: ignore[call-arg]
        (lambda: KnownHub("ws://a", tokn="x"), "did you mean 'token'"),  # type: ignore[call-arg]
    ],
)
def test_a_setting_that_is_mistyped_is_told_with_the_near_name(
    make: Callable[[], object], says: str
) -> None:
    with pytest.raises(BadSetting, match=says):
        make()
