"""Actions that ask the API once and show its answer: most buttons of the pages."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from postroad.dashboard.paging import Act, ActionResult, Form, PageView
from postroad.dashboard.rendering import plural
from postroad.remote.api_request import part

Data = Callable[[Form], dict[str, Any]]
"""What of a form goes to the API."""


def does(request: str, said: str, data: Data | None = None, go: str = "") -> Act:
    """An action. `request` is as the reference writes it, "POST /v1/campaigns/{name}/start", and
    names fields of the form. `said` may name those of the answer too, and a number with its noun:
    "{settled:recipient} settled". What a DELETE gives is its query."""
    method, _, path = request.partition(" ")

    async def act(view: PageView, form: Form) -> ActionResult:
        given = data(form) if data else {}
        place = path.format_map(_Fields(form, part))
        answer = await view.api.send(method, place, given)
        return ActionResult(said.format_map(_Fields(form, str, answer)), go)

    return act


def shown_once(said: str, heading: str, shown: tuple[str, str], note: str, go: str) -> ActionResult:
    """A secret, with its name, on a page that cannot be opened again."""
    name, secret = shown
    given = {"heading": heading, "name": name, "secret": secret, "note": note, "go": go}
    return ActionResult(said, page="secret.html", shown=given)


class _Fields(Mapping[str, "_Told"]):
    """Those of an answer, then those of a form, which must be filled in."""

    def __init__(self, form: Form, write: Callable[[str], str], answer: object = None) -> None:
        self._form = form
        self._write = write
        self._answer: dict[str, Any] = answer if isinstance(answer, dict) else {}

    def __getitem__(self, name: str) -> "_Told":
        if name in self._answer:
            return _Told(self._answer[name])
        return _Told(self._write(self._form.need(name)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._answer)

    def __len__(self) -> int:
        return len(self._answer)


class _Told:
    """A value in a sentence, with its noun if one is given."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, noun: str) -> str:
        return plural(self._value, noun) if noun else str(self._value)
