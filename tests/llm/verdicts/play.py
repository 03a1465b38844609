"""Play the conversations and the dated statements of this folder through the adjudicator.

README.md says how a case is written.
"""

import json
import re
import tomllib
import unicodedata
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from chart_binder.config import FetchConfig, LLMConfig, RulesConfig, SearxngConfig
from chart_binder.domain.dates_in_text import find_dates
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.conversation import GenerationOptions, Message, Reply
from chart_binder.rules.decide import decide
from chart_binder.web.fetch import PageFetcher
from chart_binder.web.tools import web_fetch, web_search
from golden.bundles import golden
from servers.http import Request, Response, StandIn
from servers.pages import redirect
from servers.searxng import hit

HERE = Path(__file__).parent
AGREED = '{"reading": "first_release"}'
"""What a reader answers who agrees to everything."""
NOT_SAID = "not said"
OTHER_RECORD = "another record"
READINGS = ("first_release", "other_release", "other_title", "not_a_release", "unclear")
FIELDS = {"Official": "status", "GB": "country", "Album": "primary_type", "Live": "secondary_types"}
"""The field of a question about a value, by one of its choices."""
PREMIERE = "premiere"
"""In place of the date, of what a passage says of where a recording first came out."""
Json = dict[str, Any]


# Evidence


@dataclass(frozen=True)
class Evidence:
    """A bundle that the rules leave open, with the ids of its records (`S`, `S.1`)."""

    document: Json
    ids: Mapping[str, str]
    titles: Mapping[str, str]
    types: Mapping[str, str]

    @property
    def bundle(self) -> EvidenceBundle:
        return read_bundle(self.document)

    def release(self, key: str) -> Json | None:
        """Return the release of a key such as `A.1`; None for a record's."""
        groups = self.document["recording_candidates"][0]["rg_candidates"]
        releases = (one for group in groups for one in group["releases"])
        return next((one for one in releases if one["mb_release_id"] == self.ids.get(key)), None)


def load_evidence(name: str, raw: Json) -> Evidence:
    """Read a table of evidence.toml; README.md says what its lines mean."""
    if "golden" in raw:
        document = golden(raw["golden"])
        groups = document["recording_candidates"][0]["rg_candidates"]
        keyed = {f"G{n}": group for n, group in enumerate(groups, 1)}
        for key, year in raw["blur"].items():
            keyed[key]["first_release_date"] = year
            for one in keyed[key]["releases"]:
                if (one.get("date") or "").startswith(year[:4]):
                    one["date"] = year
    else:
        keyed = dict(_record(name, line, raw["artist"]) for line in raw["records"])
        recording = {
            "mb_recording_id": _id(name, "recording"),
            "title": raw["title"],
            "rg_candidates": list(keyed.values()),
        }
        document = {
            "version": 1,
            "artist": {"name": raw["artist"], "begin_area_country": raw.get("country")},
            "recording_title": raw["title"],
            "recording_candidates": [recording | raw.get("recording", {})],
        }
    ids = {key: group["mb_rg_id"] for key, group in keyed.items()}
    for key, group in keyed.items():
        for n, one in enumerate(group["releases"], 1):
            ids[f"{key}.{n}"] = one["mb_release_id"]
    titles = {key: group["title"] for key, group in keyed.items()}
    titles["*"] = document["recording_title"]
    types = {key: group["primary_type"] or "" for key, group in keyed.items()} | {"*": ""}
    return Evidence(document, ids, titles, types)


def _record(name: str, line: str, artist: str) -> tuple[str, Json]:
    """Read `S | Single | Title | 1974 GB; 1975-01 US promo [Label CAT 1, CD] | credit`."""
    key, kind, title, releases, *credit = (part.strip() for part in line.split(" | "))
    primary, *secondary = kind.split("+")
    made = []
    for n, text in enumerate(filter(None, releases.split(";")), 1):
        form = re.fullmatch(
            r"\s*(\S+)(?: (\w\w|-))?(?: (promo|bootleg|unknown))?(?: \[(.+)\])?\s*", text
        )
        assert form, f"{name}: {text!r} is no release"
        date, country, status, imprint = form.groups()
        label, _, medium = (imprint or "").partition(", ")
        known = {"promo": "Promotion", "bootleg": "Bootleg", "unknown": None}
        made.append(
            {
                "mb_release_id": _id(name, f"{key}.{n}"),
                "title": title,
                "date": None if date == "-" else date,
                "country": None if country == "-" else country,
                "status": known[status] if status else "Official",
                "label": label.rpartition(" ")[0] or None,
                "catno": label.rpartition(" ")[2] or None,
                "format": medium or None,
            }
        )
    return key, {
        "mb_rg_id": _id(name, key),
        "title": title,
        "artist_credit": credit[0] if credit else artist,
        "primary_type": None if primary == "-" else primary,
        "secondary_types": secondary,
        "releases": made,
    }


def _id(*parts: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "/".join(parts)))


# The cases


@dataclass(frozen=True)
class Truth:
    """What an honest reader says of a date in a passage, and of which record it is said.

    In place of the date stands the field, if the reading is a value: `status Official A.1`.
    """

    piece: str
    date: str
    reading: str
    record: str = ""
    country: str = ""

    @classmethod
    def read(cls, line: str) -> "Truth":
        """Read `piece of the passage => 1974-05-03 first_release S@GB`."""
        piece, _, rest = line.rpartition(" => ")
        date, reading, *about = rest.split()
        assert piece, line
        is_value = date in FIELDS.values()
        assert is_value or reading in READINGS, line
        assert bool(about) or reading not in ("first_release", *(FIELDS if is_value else ())), line
        record, _, country = (about[0] if about else "").partition("@")
        return cls(piece, date, reading, record, country)


@dataclass(frozen=True)
class Page:
    """A page of the invented web."""

    url: str
    html: str
    truths: tuple[Truth, ...]
    snippet: str = ""
    to: str = ""
    """Where it redirects to, instead of saying anything."""

    @property
    def title(self) -> str:
        found = re.search(r"<title>(.*?)</title>", self.html, re.DOTALL)
        return unescape(found[1].strip()) if found else self.url


@dataclass(frozen=True)
class Case:
    """One conversation; `wanted` is the record that must be decided, or empty: none may be."""

    id: str
    kind: str
    wanted: str
    evidence: Evidence
    pages: Mapping[str, Page]
    search: Mapping[str, Sequence[str | Mapping[str, str]]]
    replies: tuple[str, ...]
    truths: tuple[Truth, ...] = ()
    truth: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    """The record that the pages tell, where the model of the script answers wrongly."""

    @property
    def all_truths(self) -> tuple[Truth, ...]:
        """The truths of the case, then those of its pages."""
        return (*self.truths, *(one for page in self.pages.values() for one in page.truths))


@cache
def cases() -> tuple[Case, ...]:
    """Return all conversations."""
    evidence = tomllib.loads((HERE / "evidence.toml").read_text("utf-8"))
    known = {name: load_evidence(name, raw) for name, raw in evidence.items()}
    files = [
        (path, tomllib.loads(path.read_text("utf-8")))
        for path in sorted(HERE.glob("*.toml"))
        if path.name != "evidence.toml"
    ]
    web = {
        url: Page(url, raw.get("html", ""), _truths(raw), raw.get("snippet", ""), raw.get("to", ""))
        for _, document in files
        for url, raw in document.get("page", {}).items()
    }
    made = [
        _case(raw, known, web, is_right=path.name.startswith("right"))
        for path, document in files
        for raw in document.get("case", ())
    ]
    assert len({one.id for one in made}) == len(made), "an id is given twice"
    return tuple(made)


def _truths(raw: Json) -> tuple[Truth, ...]:
    return tuple(map(Truth.read, raw.get("reads", ())))


def _case(
    raw: Json, known: Mapping[str, Evidence], web: Mapping[str, Page], *, is_right: bool
) -> Case:
    text = json.dumps([raw["replies"], raw.get("search", {})], ensure_ascii=False)
    read = {url: page for url, page in web.items() if url in text}
    pages = read | {page.to: web[page.to] for page in read.values() if page.to}
    assert bool(raw.get("wanted")) is is_right, raw["id"]
    return Case(
        raw["id"], raw["kind"], raw.get("wanted", ""), known[raw["evidence"]], pages,
        raw.get("search", {}), tuple(raw["replies"]), _truths(raw), raw.get("truth", {}),
        raw.get("answer", ""),
    )  # fmt: skip


# The model


CHOICES = re.compile(r"^.*[.\"] One of: (.*)\.\nAnswer .*{\"(\w+)\":", re.MULTILINE)
"""The dates or values among which a question lets the model choose, and the answer's key."""


def choice_of(date: str, choices: Sequence[str]) -> str:
    """Return the choice that states a date, else the one without a year, else `not said`."""
    day = re.compile(rf"\b0?{int(date[8:] or 0)}\b")
    for choice in choices:
        stated = (each.text for mention in find_dates(choice) for each in mention.dates)
        if any(text.startswith(date) or date.startswith(f"{text}-") for text in stated):
            return choice
    return next((one for one in choices if not find_dates(one) and day.search(one)), NOT_SAID)


@dataclass
class HonestReader:
    """Answers second readings from truths; what none of them fits is `unclear`."""

    evidence: Evidence
    truths: Sequence[Truth]

    def reply(self, asked: str) -> str:
        """Return the answer to a question: what the passage says of a date, or which date it is."""
        if found := CHOICES.search(asked):
            choices, key = found[1].split("; "), found[2]
            choose = self._choice if key == "on_sale" else self._value
            return json.dumps({key: choose(asked, choices)})
        return json.dumps({"reading": self.reading(asked)})

    def _choice(self, asked: str, choices: Sequence[str]) -> str:
        """Return the date on which the passage in a question says that the record came out."""
        fields = dict(re.findall(r"^(Release|Type|Country): *(.*)$", asked, re.MULTILINE))
        passage = _folded(asked)
        for one in (one for one in self.truths if _folded(one.piece) in passage):
            if self._of_what_was_asked(one, fields) == "first_release" and one.date != PREMIERE:
                return choice_of(one.date, choices)
        return NOT_SAID

    def _value(self, asked: str, choices: Sequence[str]) -> str:
        """Return the value that the passage in a question gives of the record in it."""
        field = next(name for value, name in FIELDS.items() if value in choices)
        fields = dict(re.findall(r"^(Release|Edition): *(.*)$", asked, re.MULTILINE))
        passage = _folded(asked)
        fitting = [t for t in self.truths if t.date == field and _folded(t.piece) in passage]
        if not fitting:
            return NOT_SAID
        own = (one.reading for one in fitting if self._is_asked(one.record, fields))
        return next((each for each in own if each in choices), OTHER_RECORD)

    def _is_asked(self, record: str, fields: Mapping[str, str]) -> bool:
        """Return whether a question with these fields is about a record or release: `A`, `A.1`."""
        group = record.partition(".")[0]
        title = _folded(self.evidence.titles.get(group, ""))
        one = self.evidence.release(record)
        known = [one["catno"] or "", (one["date"] or "")[:4]] if one else []
        edition = fields.get("Edition", "any")
        is_edition = edition == "any" or all(_folded(each) in _folded(edition) for each in known)
        return title != "" and title == _folded(fields.get("Release", "")) and is_edition

    def reading(self, asked: str) -> str:
        """Return what the passage in a question says of the date in it."""
        fields = dict(
            re.findall(r"^(Release|Artist|Type|Country|Date): *(.*)$", asked, re.MULTILINE)
        )
        passage, date = _folded(asked), fields.get("Date", "").replace("none is claimed", PREMIERE)
        for one in self.truths:
            if _folded(one.piece) in passage and (
                one.date == date or one.date.startswith(f"{date}-")
            ):
                return self._of_what_was_asked(one, fields)
        return "unclear"

    def _of_what_was_asked(self, one: Truth, fields: Mapping[str, str]) -> str:
        """Return a reading, which is of another record where it was not that one that was asked."""
        if not one.record or one.reading != "first_release":
            return one.reading
        evidence = self.evidence
        title, kind = evidence.titles[one.record], evidence.types[one.record].casefold()
        is_title = _folded(title) in _folded(fields.get("Release", ""))
        kinds = set(fields.get("Type", "").casefold().split()) & {"album", "single", "ep"}
        if not is_title or (kind and kinds and kind not in kinds):
            return "other_title"
        country = fields.get("Country", "").strip()
        is_elsewhere = one.country and re.fullmatch(r"[A-Z]{2}", country) and country != one.country
        return "other_release" if is_elsewhere else "first_release"


@dataclass
class Player:
    """Plays a case's replies, then repeats the last; answers second readings from its truths.

    `{S}` and `{S.1}` in a reply are the labels that the evidence markdown gives.
    """

    case: Case
    place: Mapping[str, str]
    is_lying: bool = False
    model_id: str = "played"
    _said: int = 0

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next reply, or a second reading."""
        asked = messages[-1].content
        if asked.startswith("# Second reading"):
            honest = HonestReader(self.case.evidence, self.case.all_truths)
            answer = AGREED if self.is_lying else honest.reply(asked)
            return Reply(answer, prompt_tokens=len(asked) // 4)
        evidence = next(one.content for one in messages if "# Recording Evidence" in one.content)
        text = self.case.replies[min(self._said, len(self.case.replies) - 1)]
        self._said += 1
        spoken = placed(_labelled(_spoken(text), self.case, evidence), self.place)
        return Reply(_object_in(spoken) if options.schema else spoken)


def said_of(piece: str, text: str) -> bool:
    """Whether a piece stands in a text, whatever its case, marks, dashes and cells."""
    return _folded(piece) in _folded(text)


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub("[‘’‚‛´`]", "'", re.sub("[“”„«»]", '"', text))
    return " ".join(re.sub("[‐‑‒–—−]", "-", text).replace("|", " ").split())


def _spoken(text: str) -> str:
    """Return a reply in the ReAct form, where it is only named: `search: ...`, `fetch: ...`."""
    for name, tool, argument in (("search", "web_search", "query"), ("fetch", "web_fetch", "url")):
        if text.startswith(f"{name}: "):
            value = json.dumps({argument: text.removeprefix(f"{name}: ")}, ensure_ascii=False)
            return f"Thought: I look further.\nAction: {tool}\nAction Input: {value}"
    if text.startswith("answer: "):
        answer = text.removeprefix("answer: ")
        return f"Thought: That settles it.\nFinal Answer:\n```json\n{answer}\n```"
    return text


def _object_in(text: str) -> str:
    """Return what a server lets through that holds the reply to a schema: the object alone."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    return found[0] if found and '"crg_mbid"' in found[0] else text


def _labelled(text: str, case: Case, markdown: str) -> str:
    def label(found: re.Match[str]) -> str:
        name, _, is_id = found[1].partition(":")
        wanted = case.evidence.ids[name]
        if is_id:
            return wanted
        labels: list[str] = []
        if "." in name:
            line = next(each for each in markdown.splitlines() if wanted in each)
            labels = re.findall(r"C\d+\.R\d+", line)[:1]
        else:
            before = markdown[: markdown.index(f"id: {wanted}")]
            labels = re.findall(r"^\d+\. (C\d+) ", before, re.MULTILINE)
        return labels[-1]

    return re.sub(r"\{([A-Z]\d*(?:\.\d+)?(?::id)?)\}", label, text)


def placed(text: str, place: Mapping[str, str]) -> str:
    """Put the server's port behind the names of the invented sites."""
    hosts = "|".join(map(re.escape, sorted(place, key=len, reverse=True)))
    return re.sub(rf"https?://({hosts})(?![\w.:-])", lambda m: place[m[1]], text)


# The web


@contextmanager
def serving(case: Case) -> Iterator[tuple[LLMConfig, dict[str, str], PageFetcher]]:
    """Serve a case's pages under their own names, and the search that finds them."""

    def answer(request: Request) -> Response:
        if request.path == "/search":
            # The search that code makes first finds all that any search of the case finds.
            every = {str(one): one for hits in case.search.values() for one in hits}
            asked = case.search.get(request.query["q"], every.values())
            found = [_hit(one, case.pages) for one in asked]
            body = {"query": request.query["q"], "results": found, "answers": [], "corrections": [],
                    "infoboxes": [], "suggestions": [], "unresponsive_engines": []}  # fmt: skip
            said = placed(json.dumps(body, ensure_ascii=False), place)
            return Response(said, content_type="application/json")
        asked = (request.headers["host"].partition(":")[0], request.target)
        for url, page in case.pages.items():
            if (urlsplit(url).hostname, url.split("/", 3)[3].join(("/", ""))) == asked:
                to = placed(page.to, place)
                return redirect(to) if to else Response(placed(page.html, place))
        return Response("<h1>Not Found</h1>", 404)

    with StandIn(answer) as server:
        hits = [one for found in case.search.values() for one in found]
        urls = [one if isinstance(one, str) else one["url"] for one in hits]
        hosts = {urlsplit(url).hostname or "" for url in (*case.pages, *urls)}
        place = {host: f"http://{host}:{server.port}" for host in hosts}
        config = LLMConfig(
            enabled=True,
            fetch=FetchConfig(
                ports=(server.port,), allow_private_hosts=("127.0.0.0/8",), host_pause_s=0
            ),
            searxng=SearxngConfig(url=server.url),
        )
        here = (ip_address("127.0.0.1"),)
        yield config, place, PageFetcher(config.fetch, resolve=lambda *_: here)


def _hit(one: str | Mapping[str, str], pages: Mapping[str, Page]) -> Mapping[str, object]:
    if isinstance(one, str):
        return hit(one, pages[one].title, pages[one].snippet)
    return hit(one["url"], one["title"], one.get("snippet", ""))


@dataclass(frozen=True)
class Played:
    """What came of a case."""

    case: Case
    result: AdjudicationResult
    player: Player

    @property
    def decided(self) -> str:
        """The record that was decided, or an empty text."""
        if self.result.outcome is not Outcome.ACCEPTED:
            return ""
        ids = self.case.evidence.ids
        return next((key for key, each in ids.items() if each == self.result.crg_mbid), "null")

    @property
    def is_right(self) -> bool:
        return self.decided == self.case.wanted

    @property
    def is_wrong(self) -> bool:
        """Whether a record was decided that the pages do not tell."""
        return self.decided not in {"", self.case.wanted or self.case.answer}


def play(case: Case, *, is_lying: bool = False) -> Played:
    """Play a case through the adjudicator as it is installed."""
    with serving(case) as (config, place, pages):
        player = Player(case, place, is_lying)
        tools = [web_search(config, pages=pages), web_fetch(config, pages)]
        adjudicator = ReActAdjudicator(config, chat=player, tools=tools)
        bundle = case.evidence.bundle
        result = adjudicator.adjudicate(bundle, decide(bundle, RulesConfig()))
    return Played(case, result, player)


def patched(evidence: Evidence, truth: Mapping[str, str]) -> str:
    """Return the record that the rules decide for once the truth is known, or an empty text.

    Of a group's date the vaguest official release takes it; for a release the field is set.
    """
    document = json.loads(json.dumps(evidence.document))
    for name, value in truth.items():
        key, _, what = name.rpartition("/")
        wanted = evidence.ids[key]
        for group in document["recording_candidates"][0]["rg_candidates"]:
            ones = [one for one in group["releases"] if one["mb_release_id"] == wanted]
            for one in ones:
                one[what] = value
            if group["mb_rg_id"] == wanted and what == "first_release_date":
                group[what] = value
                vague = [one for one in group["releases"] if one["status"] == "Official"]
                for one in sorted(vague, key=lambda one: len(one["date"] or ""))[:1]:
                    one["date"] = value
            elif group["mb_rg_id"] == wanted:
                made = {"secondary_types": value.split("+"), PREMIERE: True}
                group[what] = made.get(what, value)
    verdict = decide(read_bundle(document), RulesConfig())
    if not isinstance(verdict, Decided):
        return ""
    return next(key for key, each in evidence.ids.items() if each == verdict.crg)


# The dated statements


def statements() -> list[Json]:
    """Return the dated statements."""
    lines = (HERE / "dated_statements.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def case_of(number: int, said: Json) -> Case:
    """Return the case of a statement: it stands on two sites, and the model cites it from both.

    The evidence knows the year. Whatever the day is, it decides between the single and an album.
    """
    year, country = int(said["date"][:4]), said["country"]
    raw = {
        "artist": said["artist"],
        "country": country,
        "title": said["title"],
        "records": [
            f"S | Single | {said['title']} | {year} {country}",
            f"A | Album | Lanterns at Low Water | {year + 1}-01-15 {country}",
        ],
    }
    evidence = load_evidence(f"statement-{number}", raw)
    decided = patched(evidence, {"S/first_release_date": said["date"]})
    truth = Truth("", said["date"], said["reading"], "S")
    urls = (f"https://www.sleevenotes.example/a/{number}", f"https://platenhoek.example/{number}")
    pages = {url: Page(url, _statement_page(said, url), (truth,)) for url in urls}
    fact = {"about": "{S}", "field": "first_release_date", "value": said["date"]}
    facts = [fact | {"quote": said["text"], "source": url} for url in urls]
    answer = {"crg_mbid": f"{{{decided}}}", "rr_mbid": None, "confidence": 0.9, "facts": facts}
    final = f"answer: {json.dumps(answer, ensure_ascii=False)}"
    replies = ("search: it", *(f"fetch: {url}" for url in urls), final)
    kind = f"{said['kind']}, {said['form']}" if said["is_release"] else said["kind"]
    wanted = decided if said["is_release"] else ""
    return Case(f"statement-{number}", kind, wanted, evidence, pages, {"it": urls}, replies)


def _statement_page(said: Json, site: str) -> str:
    """Return a page that says it: a paragraph, a row of a table, or a line of an infobox."""
    cells = [f"<td>{escape(cell)}</td>" for cell in said["text"].split(" | ")]
    names = "".join(f"<th>{escape(name)}</th>" for name in said.get("columns", ()))
    kind = ' class="infobox"' if said["form"] == "infobox" else ""
    body = f"<table{kind}><tr>{names}</tr><tr>{''.join(cells)}</tr></table>"
    if said["form"] == "prose":
        body = f"<p>{escape(said['text'])}</p>"
    title, artist, heading = (escape(said.get(name, "")) for name in ("title", "artist", "heading"))
    above = f"<h2>{heading}</h2>" if heading else ""
    return (
        f"<title>{artist}: {title}</title><h1>{title}</h1><p>{artist}</p>{above}{body}"
        f"<p>{site} is written by its readers.</p>"
    )


# What is printed


def table(played: Sequence[Played]) -> str:
    """Return how many were decided, by kind, and which wrongly: what a failing test shows."""
    rows = [f"{'kind':32} {'cases':>5} {'decided':>8}  wrong"]
    for kind, count in sorted(Counter(one.case.kind for one in played).items()):
        ours = [one for one in played if one.case.kind == kind]
        wrong = " ".join(one.case.id for one in ours if not one.is_right)
        rows.append(f"{kind:32} {count:5} {sum(bool(one.decided) for one in ours):8}  {wrong}")
    return "\n".join(rows)
