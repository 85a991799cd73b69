"""What a page is: regions that are loaded and shown, and actions of its forms."""

import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from msgspec import Struct

from postroad.api.problems import BadRequest, problem
from postroad.api.request import Response
from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.dashboard.jobs import PageJobs
from postroad.dashboard.keeping import Keeper
from postroad.dashboard.multipart import FormFile
from postroad.dashboard.passing import PassOn
from postroad.model.tokens import Caller, Scope

FRESH_S: Final = 1.0
"""A region is rendered at most so often, however many look at it."""
DIGITS_MAX: Final = 12
TYPED: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(?:\.\d{1,6})?)?", re.ASCII)
"""What a browser gives for a time."""


class PageView(Struct, frozen=True):
    """Who looks at what: given to the functions of a page."""

    api: PageApi
    jobs: PageJobs
    keeper: Keeper
    who: Caller
    path: str
    query: dict[str, str]
    values: dict[str, str] = {}
    """Those in the path, by name."""
    chosen: str = ""
    """The tenant that was chosen; empty: none was, and some lists are of every tenant."""

    def may(self, scope: str) -> bool:
        """Whether the person has a scope."""
        return Scope(scope) in self.who.scopes

    @property
    def rights(self) -> Hashable:
        """Whoever has the same sees the same."""
        return (self.chosen, self.who.tenant, self.who.every_tenant, self.who.scopes)

    async def shared(self, path: str, keep_s: float = FRESH_S, **query: object) -> Any:
        """Read what several regions show: once in so many seconds, for all with the same rights."""

        async def read() -> tuple[Any, float]:
            return await self.api.get(path, **query), keep_s

        return await self.keeper.get((path, *query.items(), self.rights), read)

    @property
    def here(self) -> str:
        """The address of the page, with its query."""
        return self.link()

    def link(self, **changed: object) -> str:
        """The address of the page with some of its query changed; None leaves one out."""
        query = {**self.query, **changed}
        text = urlencode({name: value for name, value in query.items() if value not in (None, "")})
        path = quote(self.path, safe="/:%")
        return f"{path}?{text}" if text else path


Load = Callable[[PageView], Awaitable[dict[str, Any]]]


class Region(Struct, frozen=True):
    """A part of a page that is kept fresh. Its template has the name of the page and its own:
    `queues/table.html`."""

    name: str
    load: Load
    personal: bool = False
    """Whether it differs between people with the same rights."""
    fresh_s: float = FRESH_S


QUESTION: Final = "confirm.html"
"""The template of what is asked before something is done."""


NOTHING: Final = "There is nothing to do: no message matches."


class ActionResult(Struct, frozen=True):
    """What an action did, in a sentence; and where to go on, if not where it came from."""

    notice: str
    go: str = ""
    page: str = ""
    """A template that is shown instead, as to ask for confirmation or to show a secret once."""
    shown: dict[str, Any] = {}


class Form:
    """The fields of a form that was sent."""

    def __init__(self, pairs: list[tuple[str, str]], file: FormFile | None = None) -> None:
        self._pairs = pairs
        self._file = file

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All fields, with the name of the file."""
        return [*self._pairs, ("file", self._file.name)] if self._file else self._pairs

    def file(self) -> FormFile:
        """The file that comes with it; a refusal if none was chosen."""
        if self._file is None or not self._file.name:
            raise refusal("no file was chosen: choose one, then send the form")
        return self._file

    def one(self, name: str, default: str = "") -> str:
        """A field; the default if it is missing."""
        return next((value for key, value in self._pairs if key == name), default)

    def need(self, name: str) -> str:
        """A field that must be there; BadRequest if it is empty."""
        if not (value := self.one(name)):
            raise BadRequest(f"{name} is empty: fill it in")
        return value

    def number(self, name: str) -> int:
        """A field that must be a whole number; a refusal if it is none."""
        return _whole(name, self.need(name).strip())

    def numbers(self, name: str) -> list[int]:
        """All fields of a name, as whole numbers; a refusal if one is none."""
        return [_whole(name, text) for text in self.all(name)]

    def all(self, name: str) -> list[str]:
        """All fields of a name, as of ticked boxes."""
        return [value for key, value in self._pairs if key == name]

    def some(self, *names: str) -> dict[str, str]:
        """Those of these fields that are filled in."""
        return {name: value for name in names if (value := self.one(name))}


def _whole(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > DIGITS_MAX:
        raise refusal(f"{name}: {text[:40]!r} is no whole number: give digits, as 30")
    return int(text)


def chosen_filters(names: tuple[str, ...], given: dict[str, str]) -> dict[str, str]:
    """The filters that are set, as the API takes them."""
    found = {name: given[name].strip() for name in names if given.get(name, "").strip()}
    for name in ("since", "until"):
        if name in found:
            found[name] = with_zone(found[name])
    return found


def with_zone(text: str) -> str:
    """A time of a form as the API takes it. What a browser gives has no zone, and no seconds where
    these are zero: it is in UTC."""
    found = TYPED.fullmatch(text)
    return f"{text}{'' if found[1] else ':00'}Z" if found else text


def refusal(text: str) -> ProblemAnswer:
    """What is raised when a field cannot be read: told in place, as the API's refusals are."""
    return ProblemAnswer(problem(BadRequest(text)))


Act = Callable[[PageView, Form], Awaitable[ActionResult]]


Give = Callable[[PageView], Awaitable[Response[Any] | PassOn]]
"""Answers with a document of its own, or lets the API answer with a file."""


class WebPage(Struct, frozen=True):
    """A page: where it is, its regions, and its actions by the path that forms are sent to."""

    name: str
    """The page's name, and that of its folder of templates."""
    path: str
    title: str
    regions: tuple[Region, ...] = ()
    query: tuple[str, ...] = ()
    """What is read of its query. The rest is left out: each query is rendered by itself."""
    actions: Mapping[str, Act] = {}
    uploads: Mapping[str, Act] = {}
    """Those of its actions whose forms have a file."""
    files: Mapping[str, Give] = {}
    """What is fetched or sent beside the page, by path."""
    group: str = ""
    """The heading under which it stands in the menu; empty: it is not there."""
    key: str = ""
    """The letter that goes to it, after `g`: another one for each page of the menu."""
    scope: Scope = Scope.read

    def own_query(self, given: Mapping[str, str]) -> dict[str, str]:
        """What this page reads of a query, always in the same order."""
        return {name: given[name] for name in self.query if name in given}
