"""Files that requests bring: their names, and how they are saved."""

from pathlib import Path
from typing import Final

from postroad.api.request import Request
from postroad.model.errors import BodyTooLarge
from postroad.model.foreign import clean

UPLOAD_BYTES_MAX: Final = 2 << 30
FILE_NAME_MAX: Final = 100
FILE_NAME_BYTES_MAX: Final = 250


def file_name(given: str, otherwise: str = "recipients.csv") -> str:
    """The user's own name of a file, which errors say, as one that any folder takes."""
    name = clean(given.replace("\\", "/").rpartition("/")[2], FILE_NAME_MAX)
    name = (
        name.replace("\n", " ")
        .replace("\r", " ")
        .encode()[:FILE_NAME_BYTES_MAX]
        .decode(errors="ignore")
    )
    return name if name.strip(". ") else otherwise


async def save_upload(request: Request, path: Path) -> None:
    """Write the body of a request to a file, within a limit."""
    too_large = BodyTooLarge(f"the file has more than {UPLOAD_BYTES_MAX} bytes: send it in parts")
    if (request.content_length or 0) > UPLOAD_BYTES_MAX:
        raise too_large
    size = 0
    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > UPLOAD_BYTES_MAX:
                raise too_large
            file.write(chunk)
