"""Markup that is safe by construction: what is not markup already is escaped."""

import html
from typing import TypeAlias
from urllib.parse import urlsplit

from chart_binder.cli.harmless import harmless


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content: TypeAlias = "Markup | str | None"


def element(name: str, /, *content: Content, **attributes: str | bool) -> Markup:
    """Return an element; `class_` is written `class`, a true attribute stands without a value.

    Content and values of attributes are escaped but for `Markup`; names are never from outside.
    """
    return Markup(f"<{name}{_attributes(attributes)}>{joined(*content)}</{name}>")


def void(name: str, /, **attributes: str | bool) -> Markup:
    """Return an element that has no content, such as `<meta>`."""
    return Markup(f"<{name}{_attributes(attributes)}>")


def joined(*content: Content) -> Markup:
    """Return several pieces of content as one."""
    return Markup("".join(map(_escaped, content)))


def link(url: str, text: str = "") -> Markup:
    """Return a link to a web address; anything else that calls itself one is only shown."""
    if not _is_web_address(url):
        return element("span", text or url, class_="address")
    return element("a", text or url, href=url, rel="noopener noreferrer nofollow", class_="address")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = url.isprintable() and not any(character.isspace() for character in url)
    return is_plain and parts.scheme in ("http", "https") and bool(parts.hostname)


def _attributes(attributes: dict[str, str | bool]) -> str:
    written = (
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for name, value in attributes.items()
        if value is not False
    )
    return "".join(written)


def _escaped(content: Content) -> str:
    if isinstance(content, Markup):
        return content
    return _text(content or "")


def _text(text: str | bool) -> str:
    """Return text as markup shows it; control characters, which no page may hold, are marked."""
    return html.escape(harmless(str(text).replace("\r\n", "\n")), quote=True)
