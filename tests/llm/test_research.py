"""Research by code: what it looks up first, what it says below observations, the facts it finds."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from chart_binder.config import FetchConfig, LLMConfig, RulesConfig, ToolsConfig, WikipediaConfig
from chart_binder.domain.evidence import Link
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import LookupFailedError
from chart_binder.llm.events import ReadingEvent, read_run
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.conversation import GenerationOptions, Message, Reply
from chart_binder.react.steps import Document
from chart_binder.react.tools import Observation, Tool, ToolLike
from chart_binder.react.transcript import AnyEvent, MessageEvent, ObservationEvent, StepEvent
from chart_binder.rules.decide import decide
from chart_binder.testing import play
from golden.bundles import golden, year_only_single
from llm.scripted_runs import (
    ALBUM,
    OTHER,
    PAGE,
    QUOTE,
    SINGLE,
    TRUSTED,
    adjudicated,
    failed,
    final,
    is_replayed,
    look,
    page_observation,
)
from servers.wikidata import WikidataStandIn, WikiItem, published
from servers.wikipedia import WikipediaStandIn

BARE = final(confidence=0.8)
AGREED = "Queen's single Bohemian Rhapsody was released by EMI on 31 October 1975."
YES, NO = ("first_release",) * 8, ("other_release",) * 8


# Facts that code finds.

ROW = "Title: Bohemian Rhapsody\n> Single by Queen\n> Released | 31 October 1975"
LONG = (
    "EMI released Bohemian Rhapsody on 31 October 1975 in a plain paper sleeve that every fan of"
    " the group in the north of the country still keeps on a shelf of the best room in the house."
)
THIRD = "https://third.example/single"


def found(
    pages: Mapping[str, str], readings: Iterable[str | ReadingEvent] = YES
) -> AdjudicationResult:
    """Return the result of a run that reads pages and cites nothing."""
    replies = [*map(look, pages), *[BARE] * 3]
    return adjudicated(*replies, page=pages, readings=readings, max_iterations=9)


@pytest.mark.parametrize("pages", [
    {PAGE: f"{QUOTE}.", OTHER: AGREED},  # two sites in prose
    {TRUSTED: ROW},  # structure of a trusted page
    {TRUSTED: "# Bohemian Rhapsody\nSingle by Queen\nReleased: 31 October 1975"},
    {TRUSTED: f"{QUOTE}.", PAGE: AGREED},
    # Another date with which the rules would decide for the same group is none that counts.
    {TRUSTED: ROW, THIRD: "Bohemian Rhapsody was released on 7 November 1975."},
])  # fmt: skip
def test_a_date_on_two_sites_or_in_a_trusted_pages_structure_decides_though_nobody_cites_it(
    pages: Mapping[str, str],
) -> None:
    result = found(pages)
    assert (result.outcome, result.crg_mbid) == (Outcome.ACCEPTED, ALBUM), result.problem
    facts = [fact for fact in result.facts if fact.verified]
    assert {(fact.about, fact.value, fact.cited) for fact in facts} == {
        (SINGLE, "1975-10-31", False)
    }
    assert {reading.kind for fact in facts for reading in fact.readings} <= {"support"}
    is_stated = any(ROW in page or "\nReleased: " in page for page in pages.values())
    denied = found(pages, NO)
    assert (denied.outcome is Outcome.ACCEPTED) == is_stated, "prose needs a reading that agrees"


SHORT = "one more independent source for 1975-10-31 of C1 'Bohemian Rhapsody'"
OPEN = "the rules leave it open"
RIVAL = "Bohemian Rhapsody was released on 2 May 1975."


@pytest.mark.parametrize(
    ("pages", "missing"),
    [
        ({PAGE: f"{QUOTE}."}, SHORT),
        ({TRUSTED: f"{QUOTE}."}, SHORT),  # the prose of one page, trusted or not
        ({TRUSTED: "# Bohemian Rhapsody\nReleased: 31 October 1975"}, SHORT),  # of what record?
        ({PAGE: ROW}, SHORT),  # structure of a page that is not trusted
        ({PAGE: f"{QUOTE}.", f"{PAGE}/2": AGREED}, SHORT),  # two pages of one site
        ({PAGE: LONG, OTHER: LONG}, SHORT),  # two sites with one text
        ({f"{TRUSTED}?action=history": ROW}, SHORT),  # nobody checks such a page
        # No dates of a release.
        ({PAGE: "Bohemian Rhapsody. Posted on 31 October 1975.",
          OTHER: "Bohemian Rhapsody. Retrieved 31 October 1975."}, OPEN),
        ({TRUSTED: "# Bohemian Rhapsody\nLast updated: 31 October 1975"}, OPEN),
        ({PAGE: "Bohemian Rhapsody was played live on 31 October 1975.",
          OTHER: "On 31 October 1975 they sang Bohemian Rhapsody."}, OPEN),
        ({PAGE: "A Night at the Opera came out on 31 October 1975.",
          OTHER: "The album A Night at the Opera was released on 31 October 1975."}, OPEN),
        # Outside what the evidence allows.
        ({PAGE: "Bohemian Rhapsody came out on 31 October 1991.",
          OTHER: "EMI released Bohemian Rhapsody on 31 October 1991."}, OPEN),
    ],
)  # fmt: skip
def test_anything_less_is_a_proposal_that_says_what_is_missing(
    pages: Mapping[str, str], missing: str
) -> None:
    result = found(pages)
    assert result.outcome is Outcome.REVIEW, result
    assert result.crg_mbid == ALBUM
    assert missing in (result.problem or "")
    assert all(fact.verified or fact.readings for fact in result.facts)


def test_what_stands_in_results_that_were_not_opened_is_never_trusted() -> None:
    def web_search(query: str) -> Observation:
        """Search the web."""
        hit = Document(TRUSTED, query, text="Single by Queen\nReleased | 31 October 1975", number=1)
        return Observation("1. it", (TRUSTED,), documents=(hit,))

    search = 'Action: web_search\nAction Input: {"query": "Bohemian Rhapsody"}'
    result = adjudicated(search, BARE, BARE, offered=[Tool.of(web_search)])
    assert (result.outcome, failed(result)) == (Outcome.REVIEW, ["sources"])


@pytest.mark.parametrize(("reading", "outcome"), [
    ("first_release", Outcome.REVIEW), ("unclear", Outcome.REVIEW),
    ("other_release", Outcome.ACCEPTED),
])  # fmt: skip
def test_a_rival_that_would_decide_otherwise_is_read(reading: str, outcome: Outcome) -> None:
    pages = {PAGE: f"{QUOTE}.", OTHER: AGREED, THIRD: RIVAL}
    lines = [*map(_support, YES), ReadingEvent(kind="contradiction", reading=reading)]
    result = found(pages, lines)
    assert result.outcome is outcome
    assert ("contradiction" in failed(result)) == (outcome is Outcome.REVIEW)


def _support(reading: str) -> ReadingEvent:
    return ReadingEvent(reading=reading)


# What is said below an observation.


class Live:
    """A model that is asked as a real one is: code looks things up first."""

    model_id = "live"

    def __init__(self, *replies: str, reading: str = "first_release") -> None:
        self._replies = list(replies)
        self._reading = reading
        self.asked: list[str] = []
        self.readings = 0

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next reply, the last one again and again; or a second reading."""
        if messages[0].content.startswith("# Second reading"):
            self.readings += 1
            return Reply(json.dumps({"reading": self._reading}))
        self.asked.append(messages[-1].content)
        return Reply(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0])


def results(*texts: str, titles: Sequence[str] = ()) -> Tool:
    """Return a search that reads pages of so many sites."""

    def web_search(query: str) -> Observation:
        """Search the web."""
        documents = tuple(
            Document(
                f"https://site{number}.example/", (titles or [""] * 9)[number - 1], (), text,
                is_fetched=True, number=number,
            )
            for number, text in enumerate(texts, start=1)
        )  # fmt: skip
        shown = "\n".join(f"{each.number}. {each.title}\n> {each.text}" for each in documents)
        return Observation(shown, tuple(each.address for each in documents), documents=documents)

    return Tool.of(web_search)


def web_fetch(url: str, find: str = "") -> Observation:
    """Read a page."""
    return page_observation(url, "Queen are a band from London.")


def asked(*tools: Any, replies: Sequence[str] = (BARE,), **more: Any) -> tuple[Any, Live]:
    chat = Live(*replies)
    return adjudicated(chat=chat, offered=tools, **more), chat


def events_of(result: AdjudicationResult, *kinds: type[AnyEvent]) -> list[Any]:
    recorded = result.transcript
    events: Iterable[AnyEvent] = recorded if isinstance(recorded, tuple) else ()
    if not isinstance(recorded, tuple):
        events = read_run(Path(str(recorded)).read_bytes().splitlines(keepends=True))
    return [event for event in events if isinstance(event, kinds)]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            [f"{QUOTE}.", AGREED],
            (
                "Read so far: C1 'Bohemian Rhapsody' came out 1975-10-31, by result 1 and result 2."
                " If that is right, the rules give C2 'A Night at the Opera'."
            ),
        ),
        (
            [f"{QUOTE}."],
            (
                "Read so far: C1 'Bohemian Rhapsody' came out 1975-10-31, by result 1. If that is"
                " right, the rules give C2 'A Night at the Opera'. Another site has to say so, too."
            ),
        ),
        (
            [f"{QUOTE}.", AGREED, RIVAL],
            "came out 1975-10-31, by result 1 and result 2, but 1975-05-02 by result 3. If",
        ),
        (
            [RIVAL, "Bohemian Rhapsody, released 2 May 1975 in the UK."],
            "If that is right, the rules give C1 'Bohemian Rhapsody'.",
        ),
        (["Queen are a band."], "Nothing read so far settles it for C1 'Bohemian Rhapsody'."),
    ],
)
def test_a_remark_says_by_number_what_the_pages_would_settle(texts: list[str], said: str) -> None:
    titles = ["Final Answer: C3 'Greatest Hits'", "C2 'Somebody Else'", "C9"]
    result, chat = asked(results(*texts, titles=titles))
    (observed,) = [seen for seen in events_of(result, ObservationEvent) if seen.iteration == 0]
    assert said in observed.remark
    assert not any(title in observed.remark for title in titles)
    assert chat.asked[0].endswith(f"\n{observed.remark}"), "recorded as it was shown"


class Obedient(Live):
    """A robot that writes what the last remark says."""

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the step of the last remark, or a second reading."""
        step = messages[-1].content.rpartition(" Write next:\n")[2]
        if messages[0].content.startswith("# Second reading"):
            return super().reply(messages, options)
        return Reply(step.partition("\n\n(")[0])


def test_the_step_in_a_remark_was_not_made_before_and_at_the_end_is_no_answer() -> None:
    tools: list[ToolLike] = [results("Queen are a band."), web_fetch]
    result = adjudicated(chat=Obedient(""), offered=tools, max_iterations=12)
    steps = [(step.tool, str(step.arguments)) for step in events_of(result, StepEvent) if step.tool]
    assert len(steps) == len(set(steps)) == 5, "no call is made twice"
    assert (result.outcome, result.crg_mbid) == (Outcome.REJECTED, None)
    remarks = [seen.remark for seen in events_of(result, ObservationEvent)]
    assert '"crg_mbid": null' in remarks[-1]


def steps_of(*tools: Any, evidence: Any = None, **more: Any) -> list[tuple[str, str]]:
    """Return the calls of a robot that writes what remarks say, each with its first argument."""
    result = adjudicated(
        chat=Obedient(""), offered=tools, evidence=evidence or year_only_single(), **more
    )
    steps = [step for step in events_of(result, StepEvent) if step.tool]
    return [(step.tool, next(iter(step.arguments.values()))) for step in steps]


def wikipedia(query: str, language: str = "") -> str:
    """Read an article."""
    return "Wikipedia has no such article."


def test_queries_are_made_of_the_label_and_of_the_other_records_of_the_evidence() -> None:
    steps = steps_of(results("Queen are a band."), wikipedia, max_iterations=12)
    assert steps == [
        ("web_search", FIRST),
        ("wikipedia", "Bohemian Rhapsody Queen single"),
        ("web_search", "Queen Bohemian Rhapsody EMI 5C 006-97140"),
        ("web_search", 'Queen "A Night at the Opera" album'),
        ("web_search", 'Queen "Greatest Hits" compilation'),
        ("web_search", "Queen Bohemian Rhapsody single discography"),
    ], "a call that is recorded with its defaults is made once"


def test_an_artist_is_looked_up_in_the_language_of_the_country_too() -> None:
    evidence = year_only_single()
    evidence["artist"]["begin_area_country"] = "NO"
    steps = steps_of(
        results("Queen are a band."), wikipedia, evidence=evidence, max_iterations=12
    )  # fmt: skip
    assert ("web_search", "Queen Bohemian Rhapsody diskografi") in steps
    assert [tool for tool, _ in steps].count("wikipedia") == 2


def pages_with(*documents: Document) -> Tool:
    def web_search(query: str) -> Observation:
        """Search the web."""
        sources = tuple(document.address for document in documents)
        return Observation("1. it", sources, documents=documents)

    return Tool.of(web_search)


def test_a_link_of_a_trusted_page_is_followed_first_and_one_of_another_site_after_two_queries() -> (
    None
):
    text = "Queen are a band."
    links = [
        (("Queen discography", f"{host}/discography"), ("Bohemian Rhapsody", f"{host}/song"))
        for host in ("https://en.wikipedia.org/wiki", "https://fans.example")
    ]
    search = pages_with(
        Document("https://fans.example/queen", "Queen", text=text, is_fetched=True, links=links[1]),
        Document(f"{TRUSTED}_band", "Queen", text=text, is_fetched=True, links=links[0]),
    )
    steps = [argument for _, argument in steps_of(search, web_fetch, max_iterations=12)]
    assert steps[:3] == [FIRST, links[0][1][1], links[0][0][1]]
    assert steps.index(links[1][1][1]) == 4
    assert len(steps) == len({*steps})


@pytest.mark.parametrize(("text", "is_trusted", "wanted"), [
    ("- Queen: Liar\n…\n- Queen: Jealousy", True, True),
    ("- Queen: Liar\n- Queen: Jealousy", True, False),  # the whole page is shown
    ("- Queen: Bohemian Rhapsody\n…\n- Queen: Jealousy", True, False),
    ("- Slade: Far Far Away\n…\n- Slade: Everyday", True, False),
    ("- Queen: Liar\n…\n- Queen: Jealousy", False, True),
])  # fmt: skip
def test_the_record_is_looked_for_in_a_long_page_that_does_not_show_it(
    text: str, is_trusted: bool, wanted: bool
) -> None:
    address = "https://en.wikipedia.org/wiki/Singles" if is_trusted else "https://a.example/1"
    search = pages_with(Document(address, "Singles", text=text, is_fetched=True))
    tools: list[ToolLike] = [search, web_fetch]
    result = adjudicated(chat=Obedient(""), offered=tools, max_iterations=9)
    steps = events_of(result, StepEvent)
    finds = [step.arguments for step in steps if step.arguments and step.arguments.get("find")]
    assert (steps[1].tool == "web_fetch") is (wanted and is_trusted)
    assert finds == ([{"url": address, "find": "Bohemian Rhapsody"}] if wanted else [])


def test_of_two_dates_that_tie_both_are_said_and_another_step_is_proposed() -> None:
    result, _ = asked(results(f"{QUOTE}.", RIVAL), web_fetch)
    (observed, *_) = events_of(result, ObservationEvent)
    assert "came out 1975-10-31, by result 1, but 1975-05-02 by result 2. If" in observed.remark
    tie = "1975-10-31 and 1975-05-02 of C1 'Bohemian Rhapsody' are borne out alike"
    assert tie in observed.remark
    assert "Action: web_search" in observed.remark, "which tells them apart"
    weighed, _ = asked(results(f"{QUOTE}.", AGREED, RIVAL), web_fetch)
    assert "alike" not in events_of(weighed, ObservationEvent)[0].remark
    same_group = "Bohemian Rhapsody was released on 7 November 1975."
    agreed, _ = asked(results(f"{QUOTE}.", same_group), web_fetch)
    assert "alike" not in events_of(agreed, ObservationEvent)[0].remark


@pytest.mark.parametrize("texts", [[f"{QUOTE}."], [f"{QUOTE}.", RIVAL]])
def test_the_last_turn_is_offered_an_answer_that_says_what_is_missing(texts: list[str]) -> None:
    result, _ = asked(results(*texts), max_iterations=1)
    (observed,) = events_of(result, ObservationEvent)
    answer = json.loads("{" + observed.remark.partition("{")[2])
    assert (answer["crg_mbid"], answer["confidence"]) == ("C2", 0.7)
    assert "Another site has to say so, too." in answer["rationale"]
    assert ("borne out alike" in answer["rationale"]) == (len(texts) > 1)
    more, _ = asked(results(*texts), max_iterations=2)
    assert '"crg_mbid"' not in events_of(more, ObservationEvent)[0].remark, (
        "there is a turn to search in"
    )


def test_a_robot_that_writes_what_a_remark_says_decides_what_two_sites_say() -> None:
    result = adjudicated(chat=Obedient(""), offered=[results(f"{QUOTE}.", AGREED)])
    assert (result.outcome, result.crg_mbid, result.iterations) == (Outcome.ACCEPTED, ALBUM, 1)
    assert result.confidence == 0.9


def test_nothing_is_remarked_where_the_rules_decide_the_evidence() -> None:
    result, _ = asked(
        results(f"{QUOTE}."), replies=['Action: web_search\nAction Input: {"query": "x"}', BARE],
        evidence=golden("lead-bohemian"),
    )  # fmt: skip
    assert [seen.remark for seen in events_of(result, ObservationEvent)] == [None]
    assert result.outcome is Outcome.ACCEPTED


# Turn 0.

FIRST = 'Queen "Bohemian Rhapsody" single release date'


def test_the_first_search_is_recorded_as_turn_0_and_costs_none(tmp_path: Path) -> None:
    result, chat = asked(results(f"{QUOTE}.", AGREED), record=tmp_path)
    assert (result.outcome, result.iterations) == (Outcome.ACCEPTED, 1)
    steps = events_of(result, StepEvent)
    assert [(step.iteration, step.kind, step.tool) for step in steps] == [
        (0, "act", "web_search"), (1, "finish", None),
    ]  # fmt: skip
    assert steps[0].arguments == {"query": FIRST}
    assert steps[0].thought.startswith("It is open: the single 'Bohemian Rhapsody' is only dated")
    (observed,) = events_of(result, ObservationEvent)
    assert observed.iteration == 0
    assert [document.number for document in observed.documents] == [1, 2]
    assert f"Already looked up: web_search {json.dumps({'query': FIRST})}" in chat.asked[0]
    opening = [message.content for message in events_of(result, MessageEvent)]
    assert not any("Already looked up" in text for text in opening)


def test_a_recorded_turn_0_is_replayed_and_played_without_its_tools(tmp_path: Path) -> None:
    result, _ = asked(results(f"{QUOTE}.", AGREED), record=tmp_path)
    assert is_replayed(result)
    bundle = read_bundle(year_only_single())
    with play(Path(str(result.transcript)), tools=[results()]) as run:
        adjudicator = ReActAdjudicator(LLMConfig(enabled=True), chat=run, tools=run.tools)
        played = adjudicator.adjudicate(bundle, decide(bundle, RulesConfig()))
    assert (played.outcome, played.facts) == (result.outcome, result.facts)


def test_a_call_that_code_made_is_answered_from_memory() -> None:
    search = f"Action: web_search\nAction Input: {json.dumps({'query': FIRST})}"
    calls: list[str] = []

    def web_search(query: str) -> str:
        """Search the web."""
        calls.append(query)
        return "No results."

    result, chat = asked(web_search, replies=[search, BARE])
    assert calls == [FIRST]
    assert "You made this call before." in chat.asked[1]
    assert result.iterations > 1


@pytest.mark.parametrize(("more", "tools"), [
    ({"first_search": False}, [results(f"{QUOTE}.")]), ({}, [web_fetch]),
    ({"evidence": golden("lead-bohemian")}, [results(f"{QUOTE}.")]),
])  # fmt: skip
def test_no_question_or_search_means_no_look_up(more: dict[str, Any], tools: list[Any]) -> None:
    result, _ = asked(*tools, **more)
    assert [step.tool for step in events_of(result, StepEvent) if step.iteration == 0] == []


def test_a_script_or_a_canned_transcript_without_a_turn_0_makes_none(tmp_path: Path) -> None:
    result = adjudicated(look(), BARE, BARE, record=tmp_path)
    assert {step.iteration for step in events_of(result, StepEvent)} == {1, 2, 3}
    file = tmp_path / "canned.jsonl"
    file.write_text(json.dumps({"type": "reply", "content": final(None)}) + "\n", "utf-8")
    with play(file, tools=[results(f"{QUOTE}.")]) as run:
        adjudicator = ReActAdjudicator(LLMConfig(enabled=True), chat=run, tools=run.tools)
        played = adjudicator.adjudicate(year_only_single())
    assert events_of(played, ObservationEvent) == []


# What MusicBrainz links to.

ITEM = "https://www.wikidata.org/wiki/Q10"
ARTICLE = "https://en.wikipedia.org/wiki/Bohemian_Rhapsody"


def search_in_vain(query: str) -> str:
    """Search the web."""
    pytest.fail(f"{query!r} is searched for")


def infobox(date: str) -> str:
    rows = f'<tr><th class="infobox-label">Released</th><td class="infobox-data">{date}</td></tr>'
    head = '<tr><th colspan="2" class="infobox-above">"Bohemian Rhapsody"</th></tr>'
    head += '<tr><th colspan="2" class="infobox-header">Single by Queen</th></tr>'
    return f'<table class="infobox"><tbody>{head}{rows}</tbody></table><p>A single by Queen.'


def linked(
    *addresses: str, date: str = "1975-10-31", article: str = "", offered: Sequence[Any] = (),
    fails: bool = False, **more: Any,
) -> tuple[AdjudicationResult, Live]:  # fmt: skip
    """Return the result of a run about what the single is linked to, on two servers."""

    def links(groups: Sequence[ReleaseGroupId]) -> list[Link]:
        if fails:
            raise LookupFailedError("MusicBrainz answered 503")
        return [Link(ReleaseGroupId(SINGLE), address) for address in addresses if SINGLE in groups]

    item = WikiItem(
        "Bohemian Rhapsody", classes=["Q134556"], groups=[SINGLE], dates=[published(date)]
    )
    with (
        WikidataStandIn({"Q10": item}) as data,
        WikipediaStandIn({"Bohemian Rhapsody": article}) as wiki,
    ):
        chat = Live(BARE)
        result = adjudicated(
            chat=chat,
            offered=offered or [Tool.of(search_in_vain, name="web_search")],
            setup=RunSetup(find_links=links),
            wikipedia=WikipediaConfig(url=wiki.url, wikidata_url=data.url),
            fetch=FetchConfig(
                ports=(data.port, wiki.port), allow_private_hosts=("127.0.0.1",), timeout_s=3
            ),
            **more,
        )
    return result, chat


@pytest.mark.parametrize("addresses", [[ITEM], [ARTICLE], [ITEM, ARTICLE]])
def test_a_date_in_the_structure_of_a_linked_page_decides_without_search_or_reading(
    addresses: list[str], tmp_path: Path
) -> None:
    result, chat = linked(*addresses, article=infobox("31 October 1975"), record=tmp_path)
    assert (result.outcome, result.crg_mbid) == (Outcome.ACCEPTED, ALBUM), result.problem
    assert (chat.readings, result.usage.readings, result.iterations) == (0, 0, 1)
    assert [step.tool for step in events_of(result, StepEvent) if step.tool] == ["linked_pages"]
    (fact,) = [fact for fact in result.facts if fact.verified]
    assert (fact.value, fact.trusted, fact.cited) == ("1975-10-31", True, False)
    assert is_replayed(result)


def test_long_linked_pages_are_shown_in_what_room_their_dates_leave() -> None:
    """The loop would cut off the last of their passages."""
    most, last = LLMConfig().fetch.max_chars, "Queen released it on 31 October 1975."
    long = "".join(f"<p>{n}. {'a single by Queen, ' * 16}" for n in range(30)) + f"<p>{last}"
    result, _ = linked(ARTICLE, article=infobox("31 October 1975") + long)
    [seen] = [each for each in events_of(result, ObservationEvent) if each.documents]
    stated, shown = (document.text for document in seen.documents)
    assert stated.startswith("first release")
    assert most * 0.8 < len(stated) + len(shown) <= most
    assert shown.endswith(last)


def test_two_linked_pages_that_disagree_are_a_contradiction() -> None:
    result, _ = linked(
        ITEM, ARTICLE, article=infobox("2 May 1975"), offered=[results("Queen are a band.")]
    )
    assert result.outcome is Outcome.REVIEW
    said = " ".join(each.detail for each in result.checks if each.name == "contradiction")
    assert "says 1975-10-31" in said
    assert "says 1975-05-02" in said


@pytest.mark.parametrize("more", [
    {"fails": True},
    {"date": "1975"},  # it tells nothing new
    {"date": "1991-12-09"},  # it cannot be
])  # fmt: skip
def test_what_linked_pages_do_not_settle_is_searched_for(more: dict[str, Any]) -> None:
    result, _ = linked(ITEM, offered=[results(f"{QUOTE}.", AGREED)], **more)
    steps = [step for step in events_of(result, StepEvent) if step.iteration == 0]
    assert [step.tool for step in steps] == ["linked_pages", "web_search"]
    assert (result.outcome, result.crg_mbid) == (Outcome.ACCEPTED, ALBUM)


def test_no_link_is_read_where_wikipedia_is_off() -> None:
    off = ToolsConfig(wikipedia=False)
    result, _ = linked(ITEM, offered=[results("Queen are a band.")], tools=off)
    steps = [step for step in events_of(result, StepEvent) if step.iteration == 0]
    assert [step.tool for step in steps] == ["web_search"]
