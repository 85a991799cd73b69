"""A client that another program generates from the description reads and writes every type."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import httpx
import msgspec
import pytest

from postroad.api.app import openapi
from tests.api.stand import Stand
from tests.api.test_openapi import OPERATIONS, TOLD, references

pytestmark = pytest.mark.wide

CONFIG = {
    "post_hooks": [],
    "content_type_overrides": {
        "text/csv": "application/octet-stream",
        "message/rfc822": "application/octet-stream",
        "application/x-ndjson": "application/json",
    },
}
"""It formats nothing, and takes our two formats of lines for formats that it knows."""
PACKAGE = "generated_road_client"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The generated package: made from the file alone."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_bytes(openapi())
    (folder / "config.json").write_text(json.dumps(CONFIG))
    words = ("generate", "--path", "openapi.json", "--config", "config.json", "--meta", "none")
    made = subprocess.run(
        (sys.executable, "-m", "openapi_python_client", *words, "--output-path", PACKAGE),
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = made.stdout + made.stderr
    assert made.returncode == 0, said
    assert "WARNING" not in said
    assert "Unable" not in said
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module(PACKAGE)
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]


def examples() -> list[tuple[str, Any]]:
    """Every example of a named type, with its name."""
    found = []
    shared = {"responses": TOLD["components"]["responses"]}
    for operation in (*OPERATIONS.values(), shared):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in [each for body in bodies for each in body.get("content", {}).values()]:
            schema, shown = content["schema"], content.get("example")
            if isinstance(shown, list):
                schema, shown = schema["items"], shown[0]
            target = schema.get("$ref") or schema.get("anyOf", [{}])[0].get("$ref", "")
            if shown and target:
                found.append((target.rpartition("/")[2], shown))
    return found


@pytest.mark.wide
def test_every_type_is_read_and_written_unchanged(client: ModuleType) -> None:
    models = importlib.import_module(f"{client.__name__}.models")
    schemas = msgspec.json.decode(openapi())["components"]["schemas"]
    seen = set()
    for name, example in examples():
        assert getattr(models, name).from_dict(example).to_dict() == example, name
        seen.add(name)
    reached: set[str] = set()
    while seen - reached:
        reached |= seen
        seen |= {each.rpartition("/")[2] for name in reached for each in references(schemas[name])}
    lines = {"LineAnswer", "Summary", "ProgressLine"}  # of NDJSON, which has no examples
    lines.add("HookPage")  # the other answer of a route: a real one is read below
    ours = {name for name, each in schemas.items() if each.get("type") == "object"}
    assert ours - reached - lines == {
        "AttachmentContent",
        "CallbackForm",
        "CsvFile",
        "SuppressionsFile",
        "OneClick",
        "ProviderEvent",
        "ReturnedMail",
    }
    for name, schema in schemas.items():
        for value in schema.get("enum", ()):
            assert getattr(models, name)(value).value == value


READ = (
    "messages.show", "messages.explain", "messages.attempts", "dead.dead_list", "dead.dead_show",
    "queues.queues", "queues.explain_queue", "lanes.lanes", "lanes.explain_lane", "levels.levels",
    "stats.stats", "webhooks.webhook_list", "campaigns.campaign_list", "tokens.token_list",
    "credentials.credential_list", "mailboxes.mailbox_list", "mailboxes.mailbox_explain", "limits.limit_list", "rules.rule_list",
    "server.healthz", "server.readyz",
)  # fmt: skip


async def test_its_functions_ask_the_real_application(client: ModuleType, stand: Stand) -> None:
    models = importlib.import_module(f"{client.__name__}.models")
    road = client.AuthenticatedClient(
        base_url="http://127.0.0.1:8600",
        token=stand.token,
        raise_on_unexpected_status=True,
        httpx_args={"transport": httpx.ASGITransport(app=stand.app)},
    )

    async def call(name: str, **given: Any) -> Any:
        module = importlib.import_module(f"{client.__name__}.api.{name}")
        answer = await module.asyncio_detailed(client=road, **given)
        told = json.loads(answer.content)
        shown = answer.parsed
        again = [each.to_dict() for each in shown] if isinstance(shown, list) else shown.to_dict()
        assert again == told, name
        return shown

    sent = await call(
        "messages.send", body=models.SendRequest.from_dict({"queue": "bad", "body": 1})
    )
    hook = {"url": "https://127.0.0.1/hook", "reject": [418]}
    refused = await call("webhooks.webhook_set", body=models.WebhookRequest.from_dict(hook))
    assert refused.type_ == "urn:postroad:problem:bad-url"
    box = await call("mailboxes.mailbox_create", body=models.MailboxRequest.from_dict({"quota": 3}))
    made = {"name": "ci", "scopes": ["send"], "lasts_s": 60}
    _ = await call("tokens.token_make", body=models.TokenRequest.from_dict(made))
    await stand.road.run(until_idle=True)
    lane = (await stand.road.explain(sent.id)).lane or 1
    paths = {"dead_show": {"id": sent.id}, "mailbox_explain": {"box": box.box}}
    paths |= {"explain_queue": {"queue": "bad"}, "explain_lane": {"lane": lane}}
    for name in READ:
        last = name.partition(".")[2]
        given = {"id": sent.id} if name.startswith("messages.") else paths.get(last, {})
        _ = await call(name, **given)
