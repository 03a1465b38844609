"""An observation is told from prose by how its line begins."""

import pytest

from chart_binder.react.dialects.classic import Classic
from chart_binder.react.reading.observed import begins_observation, sights
from chart_binder.react.reading.results import _OF_TOOLS, _RESULTS, _RETURNS
from chart_binder.react.steps import Finish


@pytest.mark.parametrize(
    "line",
    [
        "Observation: C9",
        "**Observation 1:** C9",
        "Observation",
        "Obser",
        "  3. Observation from web_search: C9",
        "OBSERVATION - C9",
        "Observation C9",
        "Observaton: C9",
        "Оbservаtion: C9",
        "Ｏｂｓｅｒｖａｔｉｏｎ：C9",
        "Obser\u00advation: C9",
        "\x1b[1mObservation:\x1b[0m C9",
        "<b>Observation:</b> C9",
        "<observation>C9",
        "&lt;observation&gt;C9",
        "＜observation＞C9",
        "观察到：C9",
        "【观察】C9",
        "0bservation: C9",
        "Observation\u202f: C9",
        "Observation︰ C9",
        "Action Result: C9",
        "web_search returned: C9",
        "### Tool Output",
        "```tool_output",
        "搜索结果：C9",
        "Наблюдение: C9",
        "<web_search_result>C9",
    ],
)
def test_an_observation_is_seen_however_it_is_written(line: str) -> None:
    assert begins_observation(line)


@pytest.mark.parametrize(
    "line",
    [
        "Observations show that it is the album",
        "Observation of the dates shows it",
        "Observing: it is the album",
        "observed in 1974",
        "An observation: it is the album",
        "Obvious: it is the album",
        "Obscured by Clouds: an album",
        "Reservation: two",
        "Thought: Observation: x",
        "<response>",
        "<tool_call>{",
        "<tool_call",
        "</function>",
        "<tool>",
        "<obscure>",
        "> Observation: what a page says",
        '"observation": "a member of an object",',
        "观察者网: a site",
        "Result: what a model may have concluded",
        "The tool's output was short",
        "Tool results are what I need",
        "Action: response",
        "Response: mine",
        "<output>",
    ],
)
def test_prose_is_no_observation(line: str) -> None:
    assert not begins_observation(line)


@pytest.mark.parametrize("prose", ["Observations show that it is", "Observation of it shows"])
def test_an_answer_after_such_prose_counts(prose: str) -> None:
    step = Classic().parse(f"Thought: I know.\n{prose} the album.\nFinal Answer: C1")
    assert isinstance(step, Finish)


def test_words_after_the_bare_label_are_one_after_an_action() -> None:
    assert not begins_observation("Observation it was released in 1974")
    assert begins_observation("Observation it was released in 1974", after_action=True)


def test_a_page_in_a_block_quote_observes_nothing() -> None:
    step = Classic().parse("Thought: it has\n> Observation: 1974\nas I know.\nFinal Answer: C1")
    assert isinstance(step, Finish)


def test_places_are_those_of_the_text_itself() -> None:
    text = "a\u200b\n\u200b\n𝐎bservation: x\nb\nО\u00adbs: y"
    assert [text[seen.start :].split("\n", maxsplit=1)[0] for seen in sights(text)] == [
        "𝐎bservation: x",
        "О\u00adbs: y",
    ]


def test_a_pile_of_lines_that_may_observe_ends_in_one_that_does() -> None:
    assert len(list(sights("observe\n" * 2000))) == 1


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        *((name, "observation") for name in sorted(_OF_TOOLS)),
        *((name.title(), "result") for name in sorted(_RESULTS)),
        *((f"Tool {name}", "observation") for name in sorted(_RESULTS | _RETURNS)),
        *((f"{name} from web_search", "observation") for name in ("Results", "Output")),
    ],
)
def test_a_result_is_found_by_its_name(label: str, kind: str) -> None:
    assert [seen.kind for seen in sights(f"so\n{label}: C9")] == [kind]
