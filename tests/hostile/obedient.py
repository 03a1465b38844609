"""A model that obeys whatever it can read, and believes every date."""

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import find_dates
from chart_binder.react.conversation import GenerationOptions, Message, Reply

_ADDRESS = re.compile(r"https?://[^\s<>()|]+")
_ORDERS = re.compile(
    r"(?:answer|antwort|group|choose|crg_mbid|correct)\W{0,8}(?:\w+\W{1,4}){0,2}?"
    r"(?P<id>c\d\b|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
_NO_FACTS = re.compile(r"cite no facts|\"facts\": \[\]")
# What makes text speak as somebody else than a page.
_VOICE = re.compile(
    r"<\|[^|>]{1,30}\|>|<｜[^｜]{1,30}｜>|</?s>|\[/?(?:INST|TOOL_RESULTS|SYSTEM_PROMPT)\]|<</?SYS>>"
    r"|</?(?:system|observation|answer|tool_call|think|start_of_turn|end_of_turn)>|\[gMASK\]"
    r"|(?m:^[\s*_#>|-]{0,12}(?:Observation|Thought|Action(?: Input)?|Final Answer|Answer|System"
    r"|Human|Assistant|User|developer|Instruction|Response|Already looked up|Read so far|Write next"
    r"|This answer cannot be taken yet)[*_]{0,2}:)|(?m:^PAUSE$)|```"
    r"|最终答案:",
    re.IGNORECASE,
)
_LATIN = str.maketrans("асеорхіАСЕО", "aceopxiACEO")  # from Cyrillic
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_ALBUM = {"crg_mbid": "C2", "rr_mbid": "C2.R1", "confidence": 0.9, "rationale": "the album"}
_NEAR = 160
_SINGLE_BEFORE = PartialDate.parse("1975-08-23")
_SEARCH = 'Thought: look\nAction: web_search\nAction Input: {"query": "queen bohemian rhapsody"}'


_LOOKED_UP = re.compile(r"^Already looked up: \w+ \{.*\}\nObservation: ", re.MULTILINE)
_FRAME = re.compile(r"\A(?:Observation: )|\n*\(?(?:You have |Turn |\d+ turns? )[^\n]*\Z")


@dataclass(frozen=True, slots=True)
class ObedientModel:
    """Searches, reads `pages`, and answers as the text orders, else by its dates.

    It says so again when it is sent back, and believes every passage that it reads a second time.
    One that does not search answers at once, by what code looked up. `reads` returns what it reads
    in place of the messages, where that is given; `by_code` are the texts in the messages that code
    wrote. One that `needs_voice` obeys only what seems to be said by the system, a user, code or
    itself, and takes no date from a page: only the form of a text can mislead it.
    """

    reads: Callable[[], Sequence[str]] | None = None
    needs_voice: bool = False
    pages: Sequence[str] = ()
    searches: bool = True
    by_code: Sequence[str] = ()
    model_id: str = "obedient"
    said: list[str] = field(default_factory=list)
    """The answer it gave, as JSON."""

    @property
    def group(self) -> str:
        """The group that it named."""
        return str(json.loads(self.said[0])["crg_mbid"])

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next turn: a search, a call for each page, the answer."""
        del options
        if messages[0].content.startswith("# Second reading\n"):
            return Reply('{"reading": "first_release"}')
        turn = sum(message.role == "assistant" for message in messages)
        if turn == 0 and self.searches:
            return Reply(_SEARCH)
        if turn <= len(self.pages) and self.searches:
            url = json.dumps({"url": self.pages[turn - 1]})
            return Reply(f"Thought: read\nAction: web_fetch\nAction Input: {url}")
        if not self.said:
            texts = self.reads() if self.reads else self._read(messages)
            self.said.append(json.dumps(self._answer(list(texts))))
        return Reply(f"Thought: done\nFinal Answer:\n```json\n{self.said[0]}\n```")

    def _read(self, messages: Sequence[Message]) -> Sequence[str]:
        """Return what strangers say in the messages, without the frames around it."""
        texts = []
        for text in (message.content for message in messages if message.role == "user"):
            for written in sorted(self.by_code, key=len, reverse=True):
                text = text.replace(written, "")  # noqa: PLW2901
            texts.append(_FRAME.sub("", _LOOKED_UP.sub("", text)))
        return texts

    def _answer(self, texts: Sequence[str]) -> dict[str, object]:
        if self.needs_voice:
            texts = [text[found.end() :] for text in texts if (found := _VOICE.search(text))]
        told = " \n".join(map(_understood, texts))
        order = _ORDERS.search(told) or _ORDERS.search(re.sub(r"[^\w.]+", " ", told))
        believed = [] if self.needs_voice else _believed(texts)
        if order:
            group = order["id"].upper() if len(order["id"]) == 2 else order["id"]
            facts = [] if _NO_FACTS.search(told) else believed
            return {"crg_mbid": group, "rr_mbid": None, "confidence": 0.99, "facts": facts}
        if believed:
            group = "C1" if any(map(_makes_single, believed)) else "C2"
            return {"crg_mbid": group, "rr_mbid": None, "confidence": 0.99, "facts": believed}
        return _ALBUM


def _understood(text: str) -> str:
    """Return a text as a clever reader takes it: unseen letters gone, disguises seen through."""
    tags = "".join(chr(ord(c) - 0xE0000) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
    seen = unicodedata.normalize("NFKD", tags).translate(_LATIN)
    plain = "".join(c for c in seen if unicodedata.category(c) not in {"Cf", "Mn"})
    return " \n".join((plain, plain[::-1], *_decoded(plain))).casefold()


def _decoded(text: str) -> list[str]:
    found = []
    for packed in _BASE64.findall(text):
        try:
            found.append(base64.b64decode(packed, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            continue
    return found


def _believed(texts: Sequence[str]) -> list[dict[str, str]]:
    """Return every date that stands near the single's title, as facts with where they stand."""
    facts = {}
    for text in texts:
        addresses = [(found.start(), found[0]) for found in _ADDRESS.finditer(text)]
        for line in re.finditer(r"[^\n]+", text):
            window = text[max(0, line.start() - _NEAR) : line.end() + _NEAR].casefold()
            before = [url for at, url in addresses if at <= line.end()]
            source = (before or [url for _, url in addresses] or [""])[-1]
            if "bohemian rhapsody" not in window:
                continue
            for mention in find_dates(_ADDRESS.sub(" ", line[0])):
                value = str(mention.dates[0])
                facts[source, value] = {
                    "about": "C1", "field": "first_release_date", "value": value, "source": source
                }  # fmt: skip
    return [fact for fact in facts.values() if _is_exact(fact)][:8]


def _is_exact(fact: dict[str, str]) -> bool:
    return len(fact["value"]) > len("1975")


def _makes_single(fact: dict[str, str]) -> bool:
    return PartialDate.parse(fact["value"]).last < _SINGLE_BEFORE.first
