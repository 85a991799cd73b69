"""URLs: what is taken, and what is refused at sending, with the reason."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad import Postroad
from postroad.model.errors import BadInput, BadUrl
from postroad.model.webhook import WebhookRules
from postroad.transports.webhook.target import read
from tests.webhook.test_faults import Within

STRICT = WebhookRules()
LOOSE = WebhookRules(http=True, ports=())


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://example.com", "https://example.com:443"),
        ("https://example.com/a/b?c=d&e", "https://example.com:443"),
        ("https://EXAMPLE.com:443/", "https://example.com:443"),
        ("https://xn--exmple-cua.com:8443/", "https://xn--exmple-cua.com:8443"),
        ("https://a_b.example.com/%20", "https://a_b.example.com:443"),
        ("https://1.1.1.1/", "https://1.1.1.1:443"),
        ("https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]:443"),
    ],
)
def test_what_a_url_names(url: str, server: str) -> None:
    assert read(url, STRICT).server == server


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://user:hush@example.com/", "carries a user or password: set auth"),
        ("https://user@example.com/", "carries a user"),
        ("https://@example.com/", "carries a user"),
        ("https://user:a@hush@example.com/", "carries a user"),
        ("https://user:hush/a@example.com/", "no port"),
        ("https://user:hush?a@example.com/", "no port"),
        ("https://user:a?hush@example.com/", "no port"),
        ("https:/user:hush@example.com/", "only https"),
        ("https://user:hush#a@example.com/", "fragment"),
        ("http://example.com/", "only https"),
        ("https://example.com:80/", "port 80"),
        ("https://example.com:22/", "port 22"),
        ("https://exämple.com/", "xn--"),
        ("https://example.com/ä", "percent-encode"),
        ("https://example.com/" + "a" * 2_030, "longer than 2048"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com\\@evil.example/", "backslashes"),
        ("https://exa mple.com/", "blanks"),
        ("https://example.com/\n", "blanks"),
        ("https://example.com./", "dot"),
        ("https:///path", "odd way|no name"),
        ("https://", "empty host|no name"),
        ("https://:443/", "empty host|no name"),
        ("https://0x7f.1/", "odd way"),
        ("https://2130706433/", "odd way"),
        ("https://example.com:99999/", "port"),
        ("https://[::1", "IPv6"),
        ("https://[::1%25lo]/", "IPv6"),
    ],
)
def test_a_bad_url_is_refused_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(BadUrl, match=reason) as refused:
        read(url, STRICT)
    assert "hush" not in str(refused.value)


@given(st.text(max_size=60))
def test_whatever_is_given_is_read_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"http://{text}/"):
        try:
            target = read(url, LOOSE)
        except BadUrl:
            continue
        assert target.url.startswith(f"{target.scheme}://")
        assert target.host.isascii()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://10.1.2.3/", "private"),
        ("https://localhost/", "loopback"),
        ("https://169.254.169.254/latest/meta-data", "metadata"),
        ("ftp://example.com/", "ftp://"),
        ("webhook://example.com/", "webhook:"),
        ("file:///etc/passwd", "file://"),
        ("https://user:hush@example.com/", "carries a user"),
    ],
)
def test_bad_input_is_refused_at_sending_and_makes_no_queue(
    url: str, reason: str, tmp_path_factory: pytest.TempPathFactory, within: Within
) -> None:
    path = tmp_path_factory.mktemp("road") / "road.db"

    async def story() -> None:
        async with Postroad(f"sqlite:///{path}") as road:
            for verb in (partial(road.send, url, 1), partial(road.webhooks.set, url, reject=[418])):
                with pytest.raises(BadInput, match=reason) as refused:
                    await verb()
                assert "hush" not in str(refused.value)
            assert await road.store.find_queue("default", url) is None
            assert not any((await road.store.counts()).values())

    within(story())


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"}, {"Content-Length": "1"}, {"transfer-encoding": "chunked"},
        {"webhook-id": "mine"}, {"Webhook-Signature": "v1,x"}, {"x": "a\r\nb: c"}, {"a b": "c"},
        {"": "x"}, {"x": "ä"}, {"accept-encoding": "gzip"},
    ],
)  # fmt: skip
def test_headers_that_cannot_be_sent_are_refused(
    headers: dict[str, str], road: Postroad, within: Within
) -> None:
    async def story() -> None:
        async with road:
            url = "http://127.0.0.1:9/"
            with pytest.raises(BadInput, match="header"):
                await road.send(url, 1, headers=headers)
            with pytest.raises(BadInput, match="header"):
                await road.webhooks.set(url, headers=headers)

    within(story())
