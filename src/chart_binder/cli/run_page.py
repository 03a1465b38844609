"""A recorded run as one page for a browser."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from importlib import resources

import msgspec

from chart_binder.cli.markup import Content, Markup, element, joined, link, void
from chart_binder.cli.run_page_turns import turn_section
from chart_binder.cli.text import SITE, found, group_name, release_name
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.ids import MBID
from chart_binder.jobs.recorded import Recorded
from chart_binder.llm.result import AdjudicationResult, Check, Fact, counted

_MOST_CANDIDATES = 40


def run_page(name: str, recorded: Recorded) -> str:
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


def _parts(about: str, name: str, recorded: Recorded) -> Iterator[Content]:
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


def _answer(result: AdjudicationResult, recorded: Recorded) -> Markup:
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


def _evidence(recorded: Recorded) -> Content:
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


def _candidates(recorded: Recorded) -> Iterator[Content]:
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


def _particulars(name: str, recorded: Recorded) -> Markup:
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
