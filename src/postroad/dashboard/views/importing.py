"""Files that are imported from pages: passed on to the API while they come."""

from typing import Any, Final

from msgspec.structs import replace

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.multipart import FormFile
from postroad.dashboard.paging import Form, PageView
from postroad.model.texts import NAME_MAX

LINES_SHOWN: Final = 10
"""Invalid lines that a refusal names."""


async def import_csv(
    view: PageView, form: Form, path: str, file: FormFile | None = None, **query: object
) -> Any:
    """Import the file of a form, or another one; what the API says about it."""
    given = file or form.file()
    asked = {"skip_invalid": "true" if form.one("skip") else "false", "file": given.name[:NAME_MAX]}
    try:
        return await view.api.post_csv(path, given.pieces, **asked, **query)
    except ProblemAnswer as error:
        raise _with_lines(error) from None


def _with_lines(error: ProblemAnswer) -> ProblemAnswer:
    """A refusal with the first lines that are wrong, each with its reason."""
    told = error.problem
    more = [f"{each.field}: {each.message}" for each in told.errors[:LINES_SHOWN]]
    detail = "\n".join((told.detail, *more)) if len(more) > 1 else told.detail
    return ProblemAnswer(replace(told, detail=detail))
