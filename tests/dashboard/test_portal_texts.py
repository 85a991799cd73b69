"""What the portal says to customers, in which language, and what it does not say."""

import re
from pathlib import Path

import pytest

from postroad.config import Settings
from postroad.dashboard.portal.errors import KINDS, TEXTS, customer_error
from postroad.dashboard.portal.texts import languages, texts_for
from postroad.dashboard.rendering import environment
from postroad.model.outcome import Kind
from postroad.model.states import State
from postroad.model.webhook import WebhookRules
from tests.dashboard.portal import OPEN, visit
from tests.dashboard.stand import PageStand

INNER = ("may not call", "settings", "transform", "proxy", "127.0.0.1", "postroad")


async def test_errors_are_told_to_customers_in_their_own_words(tmp_path: Path) -> None:
    async with PageStand(tmp_path, OPEN) as stand:
        await stand.road.endpoints.create("http://127.0.0.1:9/x", tenant="acme")
    closed = Settings(webhooks=WebhookRules(http=True, ports=()))
    async with PageStand(tmp_path, closed) as strict:  # the address is not allowed any more
        sent = await strict.road.publish("a", {"x": 1}, tenant="acme")
        while not (await strict.road.explain(sent.messages[0], tenant="acme")).tries:
            await strict.road.run(until_idle=True)
        visitor = await visit(strict)
        for path in (f"messages/{sent.messages[0]}", "messages"):
            page = (await visitor.page(path)).content.decode()
            assert "is not a public one" in page, page
            assert not [each for each in INNER if each in page.replace("http://127.0.0.1:9/x", "")]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("", ""),
        ("503 Service Unavailable", "503 Service Unavailable"),
        ("400 Bad Request, which its settings reject", "400 Bad Request"),
        ("500", "500"),
        ("127.0.0.1 leads to an address that webhooks may not call", "not a public one"),
        ("connection refused", "Your server refused the connection."),
        ("no answer in time", "Your server did not answer in time."),
        ("tls: [SSL] certificate verify failed", "check its certificate"),
        ("hooks.example has no address: [Errno -2]", "check its DNS entries"),
        ("the egress proxy: 407", "not because of your server"),
        ("the transform 'slim' raised KeyError('x')", "not because of your server"),
    ],
)
def test_an_error_has_a_text_for_customers(error: str, told: str) -> None:
    assert told in customer_error(error, texts_for("en"))
    assert customer_error(error, texts_for("en")) or not error


def test_all_texts_stand_in_one_file() -> None:
    names = [name for name in environment().list_templates() if name.startswith("portal/")]
    loader = environment().loader
    assert loader is not None
    used: set[str] = set()
    for name in names:
        source = loader.get_source(environment(), name)[0]
        used |= set(re.findall(r"\bt\.(\w+)", source))
        words = re.sub(
            r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", re.sub(r'"[^"]*"', '""', source), flags=re.DOTALL
        )
        assert not re.search(r"[A-Za-z]", words), (name, words.split())
    first = languages()["en"]
    made = {f"state_{each}" for each in (*State, "enabled", "disabled", "deleting", "failing")}
    made |= {f"outcome_{each}" for each in Kind}
    made |= {"error_ours", *TEXTS.values(), *(key for _, key in KINDS)}
    assert made <= first.keys()
    assert used <= first.keys()
    for each, texts in languages().items():
        assert texts.keys() == first.keys(), each


def test_the_language_is_the_first_that_the_browser_accepts() -> None:
    assert texts_for("xx, en-GB;q=0.8").language == "en"
    assert texts_for("").language == "en"
    assert texts_for("," * 100_000).language == "en"
