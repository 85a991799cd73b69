"""Unsubscribing: a page with a button, and one click of a mail program (RFC 8058)."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.request import Request, Response
from postroad.api.routing import fetch, give
from postroad.api.unsubscribe_page import HEADERS, ONE_CLICK, asking, refusal, thanks
from postroad.model.mail_links import TOKEN_LETTERS_MAX, UNSUBSCRIBE
from postroad.model.networks import network

HTML: Final = "text/html; charset=utf-8"
Token = Annotated[str, Meta(max_length=4 * TOKEN_LETTERS_MAX, description="The link's own token")]


class OneClick(Struct, frozen=True):
    """A form with `List-Unsubscribe=One-Click`."""


def _answer(content: bytes, status: int = 200) -> Response[bytes]:
    return Response(content, status, HEADERS, HTML)


@fetch(UNSUBSCRIBE, scope=None, also=(404,), gives_media=("text/html",))
async def unsubscribe_page(request: Request, t: Token = "") -> Response[bytes]:
    """Show the page with the button. Programs that follow links change nothing by that."""
    who = request.road.campaign_service.unsubscribing.subscriber(t)
    words = request.context.unsubscribe_words
    if who is None:
        return _stranger(request)
    return _answer(asking(words, who.recipient))


@give(
    UNSUBSCRIBE,
    scope=None,
    also=(400, 404),
    takes=OneClick,
    takes_media="application/x-www-form-urlencoded",
    gives_media=("text/html",),
)
async def unsubscribe(request: Request, t: Token = "") -> Response[bytes]:
    """Unsubscribe: by the page's button, or by a mail program with one click. A second time changes
    nothing."""
    unsubscribing = request.road.campaign_service.unsubscribing
    who = unsubscribing.subscriber(t)
    if who is None:
        return _stranger(request)
    request.context.unsubscribe_tries.count(t)
    words = request.context.unsubscribe_words
    if ONE_CLICK.rpartition("=")[2].encode() not in await request.body():
        return _answer(asking(words, who.recipient), 400)
    await unsubscribing.unsubscribe(who)
    return _answer(thanks(words, who.recipient))


def _stranger(request: Request) -> Response[bytes]:
    """One answer for all links that are not ours; few of them from one network."""
    address = network(request.client[0]) if request.client else ""
    request.context.unsubscribe_tries.count(f"wrong {address}")
    return _answer(refusal(request.context.unsubscribe_words), 404)


ROUTES: Final = (unsubscribe_page, unsubscribe)
