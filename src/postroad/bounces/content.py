"""The bytes of a mail as they come over SMTP. Line ends are CR LF and nothing else: who takes
others can be made to see the end of a mail, and a next one, where its sender saw none."""

from typing import Final

from postroad.model.mail_report import BYTES_MAX

END: Final = b"\r\n.\r\n"
CONTENT_MAX: Final = 32 << 20
"""More is refused: a bounce may carry the whole mail that came back."""

ENDLESS: Final = 4


class LineEnds:
    """Looks through a stream for a CR or LF that is alone."""

    def __init__(self) -> None:
        self._open = b""
        """A CR whose LF may come with the next bytes."""

    def bare(self, data: bytes) -> bool:
        """Whether there is one in what has come so far."""
        seen = self._open + data
        self._open = b"\r" if seen.endswith(b"\r") else b""
        pairs = seen.count(b"\r\n")
        return seen.count(b"\n") != pairs or seen.count(b"\r") - len(self._open) != pairs


class ContentReader:
    """Reads a mail up to its end. Only the beginning is kept, as much as is ever looked at."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._pending = b"\r\n"  # so that a first line with a dot is the end
        self._bytes = 0

    @property
    def too_large(self) -> bool:
        """Whether more has come than a mail may have."""
        return self._bytes > CONTENT_MAX

    @property
    def endless(self) -> bool:
        """Whether so much has come that nobody waits for its end."""
        return self._bytes > ENDLESS * CONTENT_MAX

    @property
    def content(self) -> bytes:
        """The beginning of the mail, without the dots that were added on the way."""
        return bytes(self._kept[2:]).replace(b"\r\n..", b"\r\n.").removeprefix(b".")

    def read(self, data: bytes) -> bytes | None:
        """Take more; when the end was among it, return what follows the end."""
        window = self._pending + data
        self._bytes += len(data)
        at = window.find(END)
        end = at + 2 if at >= 0 else max(len(window) - len(END) + 1, 0)
        free = BYTES_MAX + 2 - len(self._kept)
        self._kept += window[: min(end, free)]
        if at >= 0:
            return window[at + len(END) :]
        self._pending = window[end:]
        return None
