"""The JavaScript package: its own tests with Node.js, and the same client in a browser, against real
servers that are killed and started again."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from postroad.transports.webhook.signing import Signer
from tests.cli.running import PROGRAM
from tests.clients.pages import PACKAGE, Pages, pages
from tests.dashboard.site import WAIT_MS, Site
from tests.servers import free_port
from tests.servers.chromium import chromium
from tests.webhook_requests.node import programs

CREATE = "whoever has this makes mailboxes"
NOWHERE = "http://127.0.0.1:9/hook"
SUBSCRIBE = """
async ([url, create]) => {
  const { Hub } = await import("/src/index.js");
  const hub = (window.hub = new Hub(url, { retryMs: 5, reconnectMs: 5, waitMs: 120000, onError: () => {} }));
  const box = (window.box = await hub.create(create));
  window.got = [];
  window.refusedCalls = 0;
  let thrown = false;
  const refused = await hub.subscribe({ [box.box]: box.recipientToken }, (message) => {
    if (!thrown) throw (thrown = true);
    window.got.push(message.bytes[0] === 123 ? message.json() : message.text);
  });
  return [refused, await hub.subscribe({ nobody: "x" }, () => window.refusedCalls++)];
}
"""
SEND = "(body) => window.hub.send(window.box.box, window.box.senderToken, body)"
SEND_TO_NOBODY = f"""
async (body) => {{  // the page may not have been told yet that its server is dead, which stored nothing
  for (;;) {{
    try {{
      return await ({SEND})(body);
    }} catch (error) {{
      if (error.name !== "HubLost") throw error;
      await new Promise((done) => setTimeout(done, 20));
    }}
  }}
}}
"""
POST = """
async ([url, token, queue]) => {
  const { Postroad } = await import("/src/index.js");
  try {
    return (await new Postroad(url, { token }).send(queue, { from: "a page" })).queue;
  } catch (error) {
    return error.status;
  }
}
"""
PLAIN = """
async ([url, box, token]) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  try {
    return (await fetch(`${url}/v1/mailboxes/${box}/messages`, { method: "POST", headers, body: "{}" })).status;
  } catch (error) {
    return error.name;
  }
}
"""
VERIFY = """
async ([secret, headers, body]) => {
  const { verify } = await import("/src/index.js");
  return [await verify(secret, headers, body, { now: 1700000000000 }),
          await verify(secret, headers, body + " ", { now: 1700000000000 }).catch((error) => error.name)];
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def shown() -> Iterator[Pages]:
    with pages() as found:
        yield found


class HubSite(Site):
    """A road with a hub at a place that stays, and pages of one origin that may use both."""

    def __init__(self, folder: Path, origin: str) -> None:
        self.hub = free_port()
        given = {"hub_listen": f"127.0.0.1:{self.hub}", "hub_create_token": CREATE}
        rules = {"webhooks.http": "true", "webhooks.allow": "127.0.0.0/8", "webhooks.ports": ""}
        settings = {**given, **rules, "origins": origin}
        words = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
        super().__init__(folder, free_port(), "from postroad import Postroad\nroad = Postroad()\n")
        self.words += tuple(words)

    def token(self) -> str:
        return str(self.ask("POST", "/v1/tokens", {"name": "page", "tenant": "*"})["secret"])


def opened(browser: Browser, origin: str) -> Page:
    page = browser.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(origin)
    return page


def test_the_package_passes_its_own_tests_in_node() -> None:
    """With real servers, of which one is killed in mid traffic."""
    command, ports = json.dumps(PROGRAM), json.dumps([free_port(), free_port()])
    env = {**os.environ, "POSTROAD_TEST_COMMAND": command, "POSTROAD_TEST_PORTS": ports}
    files = sorted(map(str, PACKAGE.glob("test/*.test.js")))
    done = subprocess.run(
        [programs()[0], "--test", *files],
        cwd=PACKAGE,
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    assert "# pass 19\n" in done.stdout.replace("ℹ", "#")


def test_a_page_receives_what_was_accepted_also_from_a_server_that_was_killed(
    browser: Browser, shown: Pages, tmp_path: Path
) -> None:
    site = HubSite(tmp_path, shown.origin)
    page = opened(browser, shown.origin)
    with site.up() as process:
        assert page.evaluate(SUBSCRIBE, [f"ws://127.0.0.1:{site.hub}", CREATE]) == [[], ["nobody"]]
        page.evaluate(SEND, {"n": 1})
        page.evaluate(SEND, "two")
        page.wait_for_function("window.got.length === 2")
        process.kill()
        process.wait()
    sent = page.evaluate_handle(f"async () => ({{ id: ({SEND_TO_NOBODY.strip()})('three') }})")
    with site.up():
        page.wait_for_function("window.got.length === 3")
        assert page.evaluate("(sent) => sent.id", sent) == 3
        _check_origins(browser, shown, site, page.evaluate("window.box"))
        page.wait_for_function("window.got.length === 4")
        page.evaluate("window.hub.stop()")
    assert page.evaluate("window.got") == [{"n": 1}, "two", "three", {}]
    assert page.evaluate("window.refusedCalls") == 0
    page.close()


def _check_origins(browser: Browser, shown: Pages, site: HubSite, box: dict[str, Any]) -> None:
    """The API and the hub are for pages of the named origin, and for no others. What is posted by
    plain HTTP arrives as text."""
    token, hub = site.token(), f"http://127.0.0.1:{site.hub}"
    for origin, sent, posted in ((shown.origin, NOWHERE, 201), (shown.other, 0, "TypeError")):
        page = opened(browser, origin)
        assert page.evaluate(POST, [site.url, token, NOWHERE]) == sent
        assert page.evaluate(PLAIN, [hub, "nobody", "x"]) == (403 if sent else "TypeError")
        assert page.evaluate(PLAIN, [hub, box["box"], box["senderToken"]]) == posted
        page.close()


def test_a_page_verifies_webhooks(browser: Browser, shown: Pages) -> None:
    secret = "whsec_c2VjcmV0cyBhcmUgMjQgdG8gNjQgYnl0ZXM="
    signature = Signer([secret]).sign("msg_1", 1_700_000_000, b'{"a":1}')
    named = {"id": "msg_1", "timestamp": "1700000000", "signature": signature}
    headers = {f"webhook-{name}": value for name, value in named.items()}
    page = opened(browser, shown.origin)
    assert page.evaluate(VERIFY, [secret, headers, '{"a":1}']) == ['{"a":1}', "WebhookRefused"]
    page.close()
