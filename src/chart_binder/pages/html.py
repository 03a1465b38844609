"""Templates of pages: each escapes all text, and loads nothing from other servers.

`render` returns a page of the server, `render_file` the same page as one file with its style sheet.
A template extends `base.html`, sets the block `content`, and gets `title` as a value.
"""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chart_binder.errors import counted
from chart_binder.files import path_text, safe_text
from chart_binder.jobs.wording import claim_text, musicbrainz_page

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request

_DIGITS = 4
_FOLDER = resources.files("chart_binder.pages")


def render(template: str, **values: object) -> str:
    """Return a page of the server, whose style sheet and scripts are files of the server."""
    return environment().get_template(template).render(style="", digest="", **values)


def render_file(template: str, *more_sheets: str, **values: object) -> str:
    """Return a page that is complete in one file: it has its style sheets and no script."""
    from markupsafe import Markup

    style = style_of(*more_sheets)
    values |= {"style": Markup(style), "digest": style_digest(style)}  # noqa: S704 - our own files
    return environment().get_template(template).render(**values)


def style_of(*more_sheets: str) -> str:
    """Return the style sheets of a page that is complete in one file."""
    return "\n".join(static_file(name).decode() for name in ("style.css", *more_sheets))


def static_file(name: str) -> bytes:
    """Return a style sheet or a script of the package."""
    return _FOLDER.joinpath("static", name).read_bytes()


def style_digest(style: str) -> str:
    """Return the digest by which a content security policy allows a style sheet in the page."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


@cache
def environment() -> "Environment":
    """Return the templates of the package; undefined values are errors, all text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("chart_binder.pages"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.tests["web_address"] = is_web_address
    templates.filters |= {"path_text": path_text, "sentence": _sentence}
    templates.globals |= {
        "counted": counted,
        "musicbrainz_page": musicbrainz_page,
        "claim_text": claim_text,
    }
    return templates


def page_number(request: "Request") -> int:
    """Return the number of the page in an address, or 1."""
    number = request.query_params.get("page", "")
    return max(int(number), 1) if number.isdecimal() and len(number) <= _DIGITS else 1


def _printable(value: object) -> object:
    """Return a value as text without control characters; markup of a template as it is."""
    from markupsafe import Markup

    if isinstance(value, Markup):
        return value
    return "" if value is None else safe_text(str(value).replace("\r\n", "\n"))


def _sentence(text: str) -> str:
    """Return a text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def is_web_address(url: str) -> bool:
    """Return whether a text is a web address that can be a link."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = url.isprintable() and not any(character.isspace() for character in url)
    return is_plain and parts.scheme in ("http", "https") and bool(parts.hostname)
