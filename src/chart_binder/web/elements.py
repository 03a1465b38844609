"""XML as objects, lists and texts: an element's attributes and the elements in it are members.

`<release id="x"><title>Y</title></release>` is `{"release": {"id": "x", "title": "Y"}}`; elements
of one name side by side are a list. What never closes is closed at the end.
"""

from typing import Any, TypeAlias

from chart_binder.web.markup import reduced
from chart_binder.web.tokens import Token, attributes_of, tokens, unescaped

Members: TypeAlias = dict[str, Any]

_MOST_TOKENS = 60_000
_MOST_CHARS = 300_000
_DEEPEST = 40
_TEXT = "text"
_OF_XML_ITSELF = ("xmlns", "xml:", "xsi:")


def document(markup: str) -> tuple[Members, bool]:
    """Return what XML says, and whether there was more than is read."""
    reading = _Reading()
    cut = False
    for count, token in enumerate(tokens(markup)):
        if count >= _MOST_TOKENS or reading.chars >= _MOST_CHARS:
            cut = True
            break
        reading.take(token)
    return reading.finished(), cut


class _Element:
    def __init__(self, name: str, members: Members) -> None:
        self.name = name
        self.members = members
        self.texts: list[str] = []

    def add(self, name: str, value: object) -> None:
        if value in ("", {}):
            return
        known = self.members.get(name)
        if known is None:
            self.members[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            self.members[name] = [known, value]

    @property
    def value(self) -> Members | str:
        text = _without_markup(" ".join(self.texts))
        if not self.members:
            return text
        if text:
            self.add(_TEXT, text)
        return self.members


class _Reading:
    def __init__(self) -> None:
        self.chars = 0
        self._open = [_Element("", {})]

    def take(self, token: Token) -> None:
        if not token.name:
            text = unescaped(token.text).strip()
            self.chars += len(text)
            if text:
                self._open[-1].texts.append(text)
        elif token.closes:
            self._end(token.name)
        elif len(self._open) < _DEEPEST:
            members = {
                name: value
                for name, value in attributes_of(token).items()
                if value and not name.startswith(_OF_XML_ITSELF)
            }
            self.chars += sum(len(name) + len(value) for name, value in members.items())
            self._open.append(_Element(token.name, members))
            if token.holds_nothing:
                self._end(token.name)

    def finished(self) -> Members:
        while len(self._open) > 1:
            self._end(self._open[-1].name)
        value = self._open[0].value
        return value if isinstance(value, dict) else {_TEXT: value}

    def _end(self, name: str) -> None:
        """Close the innermost element of a name, and what is open in it."""
        if name not in (element.name for element in self._open[1:]):
            return
        while True:
            closed = self._open.pop()
            self._open[-1].add(closed.name, closed.value)
            if closed.name == name:
                return


def _without_markup(text: str) -> str:
    """Return a text, which may be a page in its own right, without tags."""
    if "<" not in text:
        return text
    body = reduced(text).body
    return " ".join("".join(unescaped(token.text) or " " for token in tokens(body)).split())
