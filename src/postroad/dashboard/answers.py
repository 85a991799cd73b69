"""What pages answer with: a page by itself, and the way to another."""

from typing import Any, Final

from postroad.api.request import Request, Response
from postroad.dashboard import guarding
from postroad.dashboard.pages import PAGES
from postroad.dashboard.rendering import render
from postroad.version import VERSION

HTML: Final = "text/html; charset=utf-8"
FIELDS_MAX: Final = 5_000
THEMES: Final = ("", "light", "dark")
WATCHED_MAX: Final = 20
"""Pages of one session that are kept live at once."""


def go(place: str, *cookies: str, clear: bool = False) -> Response[Any]:
    """Lead a browser on; with `clear` it forgets what it kept of this site."""
    headers = {"clear-site-data": '"cache", "storage"'} if clear else {}
    return Response(b"", 303, {"location": place, **headers}, HTML, cookies)


def frame(request: Request) -> dict[str, Any]:
    """What all pages show."""
    name = guarding.cookie_name(request, guarding.THEME)
    chosen = guarding.cookies(request).get(name, "")
    theme = chosen if chosen in THEMES else ""
    return {
        "pages": PAGES,
        "now_ms": request.context.road.store.clock.now_ms(),
        "theme": theme,
        "version": VERSION,
        "watched_max": WATCHED_MAX,
    }


def html_page(
    request: Request, template: str, status: int, *cookies: str, **shown: Any
) -> Response[Any]:
    """A page by itself."""
    html = render(template, **frame(request), **shown)
    return Response(html.encode(), status, media_type=HTML, cookies=cookies)
