"""A recorded run as one page for a browser."""

import base64
import hashlib
import html
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import TypeAlias
from urllib.parse import urlsplit

import msgspec

from chart_binder.cli.output import SITE, found, group_name, release_name
from chart_binder.cli.terminal import harmless
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.vocabulary import MBID
from chart_binder.jobs.transcripts import RecordedRun
from chart_binder.llm.result import AdjudicationResult, Check, Fact, counted
from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.transcript import Exchange, Observed, Replied, Stepped, Turn


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


_WORTH_TELLING_S = 0.05


def turn_section(turn: Turn, dialect: Dialect | None) -> Markup:
    """Return thought, calls, notes and observations of a turn, and the reply as it was written.

    The thought stands in the reply alone: without its `dialect` the reply is all there is to show.
    """
    reply = turn.reply
    step = dialect.parse(reply.content) if dialect and reply else None
    return element(
        "article",
        element("h3", f"Turn {turn.number}", *_cost(reply)),
        *(_said(reply, step) if reply else ()),
        *(part for exchange in turn.exchanges for part in _exchanged(exchange)),
        _folded("The reply as written", reply.content) if reply and _is_read(step) else None,
    )


def _cost(reply: Replied | None) -> Iterator[Content]:
    if reply is None:
        return
    told = [f"{reply.seconds:.1f} s"] if reply.seconds else []
    if reply.prompt_tokens or reply.completion_tokens:
        told.append(f"{reply.prompt_tokens or 0} + {reply.completion_tokens or 0} tokens")
    if reply.done_reason not in (None, "stop"):
        told.append(f"ended by {reply.done_reason}")
    if told:
        yield element("small", ", ".join(told))


def _said(reply: Replied, step: Step | None) -> Iterator[Content]:
    if reply.thinking:
        yield _folded("Thinking", reply.thinking)
    if not _is_read(step):
        yield element("pre", reply.content, dir="auto")
    if isinstance(step, Act | Finish) and step.thought:
        yield element("p", step.thought, class_="thought", dir="auto")
    if isinstance(step, Finish):
        yield element("h4", "Answer")
        yield element("pre", step.answer, dir="auto")


def _is_read(step: Step | None) -> bool:
    """Whether the parts of a reply say all that it says."""
    return isinstance(step, Act | Finish)


def _folded(title: str, text: str) -> Markup:
    return element("details", element("summary", title), element("pre", text, dir="auto"))


def _exchanged(exchange: Exchange) -> Iterator[Content]:
    if exchange.step:
        yield from _stepped(exchange.step)
    if exchange.observation:
        yield _observed(exchange.observation)


def _stepped(step: Stepped) -> Iterator[Content]:
    if step.tool:
        yield element(
            "p", element("b", step.tool), " ", element("code", _arguments(step)), class_="call"
        )
    elif step.kind == "malformed":
        yield element("p", "This reply was not understood.", class_="problem")
    if step.notes:
        notes = (element("li", note, dir="auto") for note in step.notes)
        yield element("ul", *notes, class_="notes")


def _arguments(step: Stepped) -> str:
    if isinstance(step.arguments, str):
        return step.arguments
    return msgspec.json.encode(step.arguments or {}).decode()


def _observed(seen: Observed) -> Markup:
    took = f"{seen.seconds:.1f} s" if seen.seconds >= _WORTH_TELLING_S else ""
    sources = [element("li", link(source)) for source in seen.sources]
    return element(
        "div",
        element("h4", "Observation", element("small", took) if took else None),
        element("pre", seen.content, dir="auto"),
        element("ul", *sources, class_="sources") if sources else None,
        class_="observation failed" if seen.error else "observation",
    )


_MOST_CANDIDATES = 40


def run_page(name: str, recorded: RecordedRun) -> str:
    """Return the page, whole and on its own: it runs no script and loads nothing.

    `name` is what the transcript is called. A policy in the page itself forbids everything but its
    own style, should markup from outside ever get past the escaping.
    """
    style = resources.files("chart_binder.cli").joinpath("run_page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    about = (recorded.bundle and recorded.bundle.name) or name
    came_to = recorded.outcome.outcome if recorded.outcome else "no result"
    head = element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        void("meta", name="referrer", content="no-referrer"),
        element("title", f"{about}: {came_to} - canon"),
        Markup(f"<style>{style}</style>"),
    )
    body = element("body", element("main", *_parts(about, name, recorded)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _parts(about: str, name: str, recorded: RecordedRun) -> Iterator[Content]:
    yield element("h1", about, dir="auto")
    if recorded.missing:
        sentence = f"{recorded.missing[0].upper()}{recorded.missing[1:]}."
        yield element("p", sentence, class_="unfinished", role="note")
    if recorded.outcome:
        yield _answer(recorded.outcome, recorded)
        yield _checks(recorded.outcome.checks)
        yield _facts(recorded.outcome.facts, recorded.bundle)
    elif recorded.result is not None:
        yield _section("Result", element("pre", msgspec.json.encode(recorded.result).decode()))
    yield _evidence(recorded)
    yield _section(
        "Run", *(turn_section(turn, recorded.dialect) for turn in recorded.turns), class_="turns"
    )
    yield _particulars(name, recorded)


def _section(title: str, *content: Content, class_: str = "") -> Markup:
    return element("section", element("h2", title), *content, class_=class_ or title.lower())


def _answer(result: AdjudicationResult, recorded: RecordedRun) -> Markup:
    group, release = found(recorded.bundle, result.crg_mbid, result.rr_mbid)
    named = group_name(group) if group else ""
    edition = release_name(release) if release else ""
    return element(
        "section",
        element(
            "p",
            element("strong", result.outcome, class_=f"badge {result.outcome}"),
            element(
                "meter",
                min="0",
                max="1",
                value=f"{result.confidence:.3f}",
                aria_label="confidence",
            ),
            element("span", f"confidence {result.confidence:.2f}"),
            class_="verdict",
        ),
        element("p", _thing("release-group", result.crg_mbid, named), class_="group", dir="auto"),
        result.rr_mbid and element("p", _thing("release", result.rr_mbid, edition), dir="auto"),
        result.rationale and element("p", result.rationale, class_="rationale", dir="auto"),
        result.problem and element("p", result.problem, class_="problem", dir="auto"),
        class_="answer",
    )


def _thing(kind: str, mbid: str | None, name: str) -> Content:
    """Name what an id stands for, with its address at MusicBrainz."""
    if not mbid:
        return "no answer"
    return link(f"{SITE}/{kind}/{mbid}", name or mbid) if MBID.fullmatch(mbid) else name or mbid


def _checks(checks: Iterable[Check]) -> Content:
    rows = [
        element(
            "li",
            element("b", f"{'ok' if check.passed else 'not ok'}: {check.name} "),
            element("span", check.detail, dir="auto"),
            class_="passed" if check.passed else "failed",
        )
        for check in checks
    ]
    return _section("Checks", element("ul", *rows)) if rows else None


def _facts(facts: Iterable[Fact], bundle: EvidenceBundle | None) -> Content:
    rows = [
        element(
            "li",
            element("b", "verified: " if fact.verified else "not verified: "),
            element("span", f"{fact.field} {fact.value} of {_about(fact, bundle)}", dir="auto"),
            element("div", link(fact.source)) if fact.source else None,
            class_="passed" if fact.verified else "failed",
        )
        for fact in facts
    ]
    return _section("Facts", element("ul", *rows)) if rows else None


def _about(fact: Fact, bundle: EvidenceBundle | None) -> str:
    group, _ = found(bundle, fact.about, None)
    return group_name(group) if group else fact.about


def _evidence(recorded: RecordedRun) -> Content:
    messages = [
        element(
            "details",
            element("summary", _TITLES.get(message.role, message.role)),
            element("pre", message.content, dir="auto"),
        )
        for message in recorded.opening
    ]
    content = [*_candidates(recorded), *messages]
    return _section("Evidence", *content) if content else None


def _candidates(recorded: RecordedRun) -> Iterator[Content]:
    chosen = recorded.outcome.crg_mbid if recorded.outcome else None
    bundle = recorded.bundle
    groups = {
        group.mb_rg_id: group
        for recording in (bundle.recording_candidates if bundle else ())
        for group in recording.groups
    }
    shown = [*groups.values()][:_MOST_CANDIDATES]
    rows = [
        element(
            "li",
            element("time", group.first_date.text or "undated"),
            element("span", group_name(group), dir="auto"),
            class_="chosen" if group.mb_rg_id == chosen else "",
        )
        for group in shown
    ]
    if rows:
        yield element("ul", *rows, class_="candidates")
    if len(groups) > len(shown):
        yield element("p", f"and {len(groups) - len(shown)} more")


def _particulars(name: str, recorded: RecordedRun) -> Markup:
    rows = {"transcript": name}
    run, result = recorded.run, recorded.outcome
    if run:
        rows |= {
            "run": run.id,
            "started": run.started_at,
            "model": run.model_id,
            "dialect": run.dialect,
            "prompt": run.prompt_version,
            "evidence": run.evidence_hash,
        }
    if result:
        usage = result.usage
        rows["turns"] = counted(result.iterations, "turn")
        rows["tokens"] = f"{usage.prompt_tokens} read, {usage.completion_tokens} written"
        rows["time"] = f"{usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    pairs = (
        joined(element("dt", key), element("dd", value)) for key, value in rows.items() if value
    )
    return _section("Particulars", element("dl", *pairs))


_TITLES = {"system": "System prompt", "user": "Evidence as the model read it"}
