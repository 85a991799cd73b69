"""A road in which strangers have written wherever they can, and the addresses of all its pages."""

from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import urlencode

from postroad.model.texts import HEADERS_MAX
from tests.dashboard.site import TASKS, Site

WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
REACH = (
    *("--set", "webhooks.http=true", "--set", "webhooks.allow=127.0.0.0/8"),
    *("--set", "webhooks.ports="),
)
NOBODY = "http://127.0.0.1:1"
"""Of endpoints: it is refused at once."""
NAME_MAX = 90


class Planting:
    """What is written into a road: `texts` wherever a text may stand, `names` as names of things."""

    def __init__(self, texts: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.texts = texts
        self.names = tuple(name[:NAME_MAX] for name in names)
        self.queues = tuple(f"q-{name}" for name in self.names)

    def program(self, *more: str) -> str:
        """Handlers with these names, each of which refuses with what it was sent."""
        loop = f"for each in {self.queues!r}:\n    road.handler(each)(bad)\n"
        return TASKS + loop + "".join(more)

    def plant(self, place: Site) -> str:
        """Write all of it; returns a message whose body has every text, and its headers some."""
        for text in self.texts:
            place.send("bad", text, headers={"x-note": _plain(text)})
        for n, text in enumerate(self.texts):
            note = {"recipient": f"+1600{n:07}", "note": text}
            place.ask("POST", "/v1/suppressions", note)
        hooks = {"kind": "webhook", "secret": WHSEC}
        place.ask("POST", "/v1/credentials", {**hooks, "name": "hooks"})
        for n, name in enumerate(self.names):
            self._name(place, n, name)
        shares = _shares(self.texts, HEADERS_MAX)
        whole = [place.send("later", self.texts, headers=some) for some in shares]
        return whole[0]

    def _name(self, place: Site, n: int, name: str) -> None:
        hooks = {"kind": "webhook", "secret": WHSEC, "account": name, "sender": name}
        timed = {"queue": "later", "body": name, "every_s": 86_400}
        url, text = f"{NOBODY}/{n}", name.replace("{", "(")  # that is no template
        for path, data in (
            ("tokens", {"name": name, "role": "read"}),
            ("logins", {"name": name}),
            ("event-types", {"name": f"kind.{n}", "description": name}),
            ("endpoints", {"url": url, "description": name}),
            ("limits", {"name": name, "lanes": "smtp:*", "rate": "1/s"}),
            ("rules", {"name": f"rule-{n}", "lanes": "smtp:*", "do": "keep", "text": name}),
            ("tenants", {"name": f"t{n}", "description": name}),
            ("timetables", {"name": name, **timed}),
            ("credentials", {"name": name, **hooks}),
            ("campaigns", {"name": name, "credential": "hooks", "template": text}),
            ("messages", {"queue": f"q-{name}", "body": name}),
            ("messages", {"queue": f"q-{name}", "body": name, "delay": 3600}),
        ):
            place.ask("POST", f"/v1/{path}", data)

    def pages(self, place: Site) -> Iterator[str]:
        """The addresses of lists, page by page, and of one page of each thing."""
        yield from ("/", "/mailboxes", "/limits", "/system")
        for path, listed in (
            ("queues", "queues"),
            ("lanes", "lanes"),
            ("endpoints", "endpoints"),
            ("timetables", "timetables"),
            ("messages", "messages"),
            ("dead", "dead"),
            ("suppressions", "suppressions"),
            ("access", "audit"),
            ("campaigns", ""),
            ("credentials", ""),
        ):
            yield from list_pages(place, path, listed) if listed else (f"/{path}",)
        yield from self.single(place)

    def single(self, place: Site) -> Iterator[str]:
        """The addresses of one thing each."""
        for name in self.names:
            for path in ("timetable", "credential", "campaign"):
                yield f"/{path}?{urlencode({'name': name})}"
        yield from (f"/queue?{urlencode({'name': queue})}" for queue in self.queues)
        for each in listing(place, "endpoints"):
            yield f"/endpoints/{each['id']}"
        for each in listing(place, "lanes"):
            if each["server"] in self.queues and not each["shard"]:
                yield f"/lane?id={each['id']}"


def _plain(text: str) -> str:
    """A text as a header may have it."""
    return text.encode("ascii", "replace").decode().replace("\t", " ")


def _shares(texts: Iterable[str], many: int) -> Iterator[dict[str, str]]:
    left = enumerate(texts)
    while some := {f"x-{n}": _plain(text) for n, text in islice(left, many)}:
        yield some


def listing(place: Site, path: str) -> Iterator[dict[str, object]]:
    """All that a list of the API has."""
    after = ""
    while True:
        query = urlencode({"limit": 500, "after": after} if after else {"limit": 500})
        said = place.ask("GET", f"/v1/{path}?{query}")
        yield from said[path]
        after = said["after"]
        if not after:
            return


def list_pages(place: Site, path: str, listed: str) -> Iterator[str]:
    """A list's pages, one after the other; `listed` is its name in the API."""
    after = ""
    for _ in range(20):
        query = urlencode({"after": after}) if after else ""
        yield f"/{path}?{query}" if query else f"/{path}"
        after = place.ask("GET", f"/v1/{listed}?limit=50&{query}".rstrip("&"))["after"]
        if not after:
            return
