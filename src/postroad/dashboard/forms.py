"""Forms as browsers send them: as pairs, or with a file."""

from typing import Final
from urllib.parse import parse_qsl

from postroad.api.problems import BadRequest, UnsupportedMediaType
from postroad.api.request import Request
from postroad.api.uploads import UPLOAD_BYTES_MAX
from postroad.dashboard.multipart import MultipartReader
from postroad.dashboard.paging import Form
from postroad.model.errors import BodyTooLarge

ROOM_BYTES: Final = 1 << 20
"""What a form with a file may have beside it."""


async def read_form(request: Request, fields_max: int) -> Form:
    """The fields of a form; BadRequest if there are too many."""
    _check_plain(request)
    text = (await request.body()).decode("latin-1")
    try:
        return Form(parse_qsl(text, keep_blank_values=True, max_num_fields=fields_max))
    except ValueError:
        raise BadRequest(f"a form has at most {fields_max} fields: choose fewer") from None


async def read_upload(request: Request) -> Form:
    """The fields of a form, and its file, which is read when an action passes it on."""
    _check_plain(request)
    request.body_bytes_max = UPLOAD_BYTES_MAX + ROOM_BYTES
    if request.content_length > request.body_bytes_max:
        size = UPLOAD_BYTES_MAX >> 30
        raise BodyTooLarge(f"the file has more than {size} GiB: send it in parts")
    reader = MultipartReader(request.headers.get("content-type", ""), request.stream())
    return Form(*await reader.read())


def _check_plain(request: Request) -> None:
    """What comes compressed is not unpacked: a small body could be a huge one."""
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise UnsupportedMediaType("forms are read uncompressed: leave out Content-Encoding")
