"""A summary says of what failed what a person can act on, in words that fit the count."""

from chart_binder.batch import BatchResult
from chart_binder.cli.render.run import summary_lines
from chart_binder.domain.records import Measures

FOUND = Measures(
    files=15,
    seconds=0.5,
    states={"decided": 2, "error": 13},
    tags={"refused": 2},
    causes={"file": 13},
    errors={"'a/1.flac' is empty": 12, "no title": 1},
    unwritten={"it was left open": 2},
    examples={
        "'a/1.flac' is empty": "a/1.flac", "no title": "b/2.flac", "it was left open": "c/3.flac",
    },
    spent={"musicbrainz_requests": 1, "model_runs": 1, "model_replies": 2, "prompt_tokens": 1200},
)  # fmt: skip


def lines(found: Measures, *, is_dry: bool = False) -> list[str]:
    return list(summary_lines(BatchResult("r1", found, 1), "", is_dry=is_dry))


def test_of_failures_alike_the_first_is_told_in_full() -> None:
    said = lines(FOUND)
    assert said[said.index("failures       13 file") :] == [
        "failures       13 file",
        "               'a/1.flac' is empty (and 11 others alike)",
        "               b/2.flac: no title",
        "               (`--report FILE` has every one of them)",
        "run            r1 (`canon runs show` has it all)",
    ]
    assert "not written    c/3.flac: it was left open (and 1 other alike)" in said


def test_what_was_spent_is_named_as_one_or_several() -> None:
    told = " ".join(" ".join(lines(FOUND)).split())  # whatever the terminal's width
    assert (
        "spent 1 try at MusicBrainz, 1 case for the model, 2 replies of it, 1,200 tokens read"
        in told
    )


def test_a_dry_run_names_no_run() -> None:
    assert lines(Measures(), is_dry=True)[-1] == (
        "run            dry run: nothing was kept or written"
    )
