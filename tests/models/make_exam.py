"""Choose the passages of `canon model check` from passages.jsonl; run it as a script to write them.

Only what code would ask a model about is chosen, of real records, a third of it in rows, infoboxes
and lists that code does not understand. Languages take turns, so that English has no more than it
must.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import chart_binder.llm
from chart_binder.web.structure import states_date
from models.passages import Question, read_questions

FILE = Path(chart_binder.llm.__path__[0]) / "exam_passages.jsonl"
EACH = {False: 20, True: 10}
"""Passages in prose and (True) in structure, of true ones and of others."""
_REAL = ("real", "reworded")


def chosen() -> Iterator[Question]:
    """Yield the passages of the exam, those of a kind together."""
    asked = [
        each
        for part in ("held", "tune")
        for each in read_questions(part)
        if not (each.doubt or _is_understood(each))
    ]
    records = set[str]()
    for is_true in (True, False):
        for is_structured in (True, False):
            yield from _spread([
                each
                for each in asked
                if (each.is_true, each.is_structured) == (is_true, is_structured) and _is_real(each)
            ], EACH[is_structured], records)  # fmt: skip


def _is_understood(question: Question) -> bool:
    """Return whether code takes the date from structure without asking a model."""
    return question.place is not None and states_date(question.place, question.subject)


def _is_real(question: Question) -> bool:
    return question.fields["origin"] in _REAL or "facts as in" in question.fields["source"]


def _spread(questions: Sequence[Question], count: int, records: set[str]) -> Iterator[Question]:
    """Yield `count` of a kind, by turns of languages, of no record twice."""
    left, languages = list(questions), Counter[str]()
    for _ in range(count):
        left = [one for one in left if one.fields["release"] not in records]
        best = min(left, key=lambda one: (
            languages[one.fields["language"]] / (4 if one.fields["language"] == "en" else 1),
            one.fields["origin"] not in _REAL,
        ))  # fmt: skip
        languages[best.fields["language"]] += 1
        records.add(best.fields["release"])
        yield best


def line_of(question: Question) -> str:
    """Return the line of a passage in the package."""
    fields = {key: question.fields[key] for key in ("release", "artist", "type", "country", "date")}
    fields |= {
        "title": question.document.title,
        "text": question.document.text,
        "language": question.fields["language"],
        "is_first": question.is_true,
        "source": question.fields["source"],
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text("".join(map(line_of, chosen())), "utf-8")
