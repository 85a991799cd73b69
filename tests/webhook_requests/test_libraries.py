"""The reference libraries of Standard Webhooks, for Python and for JavaScript, verify what is sent,
also while a secret is being changed."""

from base64 import b64encode
from collections.abc import Callable

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from postroad import Postroad
from tests.webhook_requests.node import verified
from tests.webhook_requests.servers import Got, Stand

Verify = Callable[[str, list[Got]], list[object]]


def by_python(secret: str, requests: list[Got]) -> list[object]:
    """The bodies, or None where the signature does not fit."""
    told: list[object] = []
    for one in requests:
        try:
            told.append(Webhook(secret).verify(one.body, one.headers))
        except WebhookVerificationError:
            told.append(None)
    return told


def by_node(secret: str, requests: list[Got]) -> list[object]:
    """The same by the package of npm."""
    asked = [
        {"secret": secret, "headers": one.headers, "body": b64encode(one.body).decode()}
        for one in requests
    ]
    return [one.get("body") for one in verified(asked)]


async def test_both_libraries_verify_what_is_sent_during_rotation_too(
    road: Postroad, stand: Stand
) -> None:
    made = await road.endpoints.create(stand.url)
    secrets = [made.secret]
    for overlap in (None, 3_600, 0):
        if overlap is not None:
            secrets.append((await road.endpoints.rotate(made.id, overlap=overlap)).secret)
        await road.publish("order.paid", {"turn": len(secrets), "text": "é ✓"})
        await road.run(until_idle=True)
    bodies = [{"turn": turn, "text": "é ✓"} for turn in (1, 2, 3)]
    fits = [[True, True, False], [False, True, False], [False, False, True]]
    for verify in (by_python, by_node):
        for secret, turns in zip(secrets, fits, strict=True):
            expected = [body if fit else None for body, fit in zip(bodies, turns, strict=True)]
            assert verify(secret, stand.got) == expected


async def test_neither_takes_a_request_that_was_changed(road: Postroad, stand: Stand) -> None:
    made = await road.endpoints.create(stand.url)
    await road.publish("order.paid", {"total": 1})
    await road.run(until_idle=True)
    (got,) = stand.got
    forged = Got(got.path, got.headers, b'{"total":2}', "")
    for verify in (by_python, by_node):
        assert verify(made.secret, [got, forged]) == [{"total": 1}, None]
