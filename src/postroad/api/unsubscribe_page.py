"""The page on which a recipient unsubscribes: HTML without scripts, in the operator's words."""

import tomllib
from html import escape
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from postroad.api.docs_page import STYLE_PATH
from postroad.model.errors import BadSetting

ONE_CLICK: Final = "List-Unsubscribe=One-Click"
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # With no-referrer a browser would send `Origin: null` with the form, which is refused.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}


class PageWords(Struct, frozen=True, forbid_unknown_fields=True):
    """What the page says. `{recipient}` stands for the address."""

    language: str = "en"
    title: str = "Unsubscribe"
    question: str = "Do you want no more mail of this kind at {recipient}?"
    button: str = "Unsubscribe"
    done: str = "You will get no more mail of this kind at {recipient}."
    invalid: str = "This link is not complete or not ours. Copy all of it from the mail."


def read_words(path: str) -> PageWords:
    """The operator's words, from a TOML file; BadSetting when it cannot be used."""
    if not path:
        return PageWords()
    try:
        return msgspec.convert(tomllib.loads(Path(path).read_text("utf-8")), PageWords)
    except OSError as error:
        raise BadSetting(f"unsubscribe_page: cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BadSetting(f"unsubscribe_page: {path}: {error}") from None


def asking(words: PageWords, recipient: str) -> bytes:
    """The page with the button. Its form goes to the address of the page, token and all."""
    name, _, value = ONE_CLICK.partition("=")
    field = f'<input type="hidden" name="{name}" value="{value}">'
    button = f'<button type="submit">{escape(words.button)}</button>'
    form = f'<form method="post">{field}{button}</form>'
    return _page(words, _said(words.question, recipient) + form)


def thanks(words: PageWords, recipient: str) -> bytes:
    """The page after it."""
    return _page(words, _said(words.done, recipient))


def refusal(words: PageWords) -> bytes:
    """The page for every link that is not ours, whatever is wrong with it."""
    return _page(words, _said(words.invalid, ""))


def _said(text: str, recipient: str) -> str:
    return f"<p>{escape(text).replace('{recipient}', f'<b>{escape(recipient)}</b>')}</p>"


def _page(words: PageWords, content: str) -> bytes:
    return (
        f'<!doctype html>\n<html lang="{escape(words.language)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(words.title)}</title>\n<link rel="stylesheet" href="{STYLE_PATH}">\n'
        f"</head>\n<body>\n<main><h1>{escape(words.title)}</h1>\n{content}\n</main>\n</body>\n"
        "</html>\n"
    ).encode()
