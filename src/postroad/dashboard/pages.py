"""All pages, and which of them a path is."""

from typing import Final
from urllib.parse import unquote

from postroad.dashboard.paging import Act, Give, WebPage
from postroad.dashboard.views import (
    access,
    campaigns,
    credentials,
    dead,
    endpoints,
    lanes,
    limits,
    mailboxes,
    message,
    messages,
    overview,
    queues,
    suppressions,
    system,
    timetables,
)

PAGES: Final[tuple[WebPage, ...]] = (
    overview.PAGE,
    messages.PAGE,
    message.PAGE,
    queues.PAGE,
    queues.ONE,
    lanes.PAGE,
    lanes.ONE,
    dead.PAGE,
    endpoints.PAGE,
    endpoints.ONE,
    campaigns.PAGE,
    campaigns.ONE,
    credentials.PAGE,
    credentials.ONE,
    suppressions.PAGE,
    timetables.PAGE,
    timetables.ONE,
    mailboxes.PAGE,
    limits.PAGE,
    access.PAGE,
    system.PAGE,
)
"""In the order of the menu. A new page is a file in views/ and a folder of templates."""
UPLOADS: Final[frozenset[str]] = frozenset(path for page in PAGES for path in page.uploads)
ACTIONS: Final[dict[str, tuple[WebPage, Act]]] = {
    path: (page, act)
    for page in PAGES
    for path, act in (*page.actions.items(), *page.uploads.items())
}
FILES: Final[dict[str, tuple[WebPage, Give]]] = {
    path: (page, give) for page in PAGES for path, give in page.files.items()
}


def find_page(path: str) -> tuple[WebPage, dict[str, str]] | None:
    """The page at a path, and the values in that."""
    parts = tuple(unquote(part) for part in path.split("/"))
    for page in PAGES:
        own = page.path.split("/")
        if len(own) == len(parts):
            pairs = list(zip(own, parts, strict=True))
            if all(name == part or (name[:1] == "{" and part) for name, part in pairs):
                return page, {name[1:-1]: part for name, part in pairs if name[:1] == "{"}
    return None
