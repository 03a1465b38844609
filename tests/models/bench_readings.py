"""Play forms of the second reading over a set and a model server, and print what each lets stand.

    CANON_TEST_MODEL_URL=http://127.0.0.1:8080 python tests/models/bench_readings.py \\
        --part tune --form installed --form event --each 10 --answers answers.jsonl

Only what code would ask a model about is asked. `--answers` keeps every answer, so that forms can
be combined afterwards without a model.
"""

import argparse
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from chart_binder.chat.openai import connect
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatModel, GenerationOptions, Message, ask
from models.forms import FORMS, Form
from models.passages import Question, read_questions

SHAPES = {"all": (False, True), "prose": (False,), "structure": (True,)}


@dataclass(frozen=True)
class Answered:
    """What a form read in the passage of a question."""

    question: Question
    reading: str | None
    """None where an answer could not be read."""
    seconds: float
    answers: Sequence[str] = ()

    @property
    def stands(self) -> bool:
        """Whether the fact would stand."""
        return self.reading == "first_release"


def wilson(hits: int, total: int) -> str:
    """Return a share with its 95 % interval."""
    if not total:
        return "-"
    z, share = 1.96, hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    half /= 1 + z * z / total
    return f"{hits} of {total} ({middle - half:.0%}-{middle + half:.0%})"


def sample(part: str, each: int, shapes: Sequence[bool] = (False, True)) -> list[Question]:
    """Return so many questions of each kind: true or not, in prose or (True) in structure.

    They are taken at even distances from those that code asks.
    """
    asked = [question for question in read_questions(part) if question.doubt is None]
    chosen = list[Question]()
    for kind in product((True, False), shapes):
        group = [one for one in asked if (one.is_true, one.is_structured) == kind]
        count = min(each or len(group), len(group))
        chosen += (group[len(group) * number // count] for number in range(count))
    return chosen


def play(form: Form, questions: Iterable[Question], chat: ChatModel) -> Iterator[Answered]:
    """Yield what a form reads in each passage."""
    for question in questions:
        started, answers = time.monotonic(), []
        for part in form.parts:
            options = GenerationOptions(schema=part.schema(question), temperature=0.0)
            reply = ask(chat, [Message("user", part.text(question))], options)
            answers.append(reply.content)
            if part.ends is not None and part.ends(question, reply.content):
                break
        reading = form.combine(question, answers)
        yield Answered(question, reading, time.monotonic() - started, answers)


def report(name: str, answered: Sequence[Answered]) -> str:
    """Return what a form let stand, of which kinds, and how long it took."""
    true = [each for each in answered if each.question.is_true]
    other = [each for each in answered if not each.question.is_true]
    seconds = sum(each.seconds for each in answered) / max(1, len(answered))
    taken, passed = (sum(each.stands for each in group) for group in (true, other))
    head = f"{name}: true taken {wilson(taken, len(true))}, others let through"
    unreadable = sum(each.reading is None for each in answered)
    lines = [f"{head} {wilson(passed, len(other))}, unreadable {unreadable}, {seconds:.1f} s each"]
    kinds = (("prose", False), ("structure", True))
    for name_of_kind, is_structured in kinds:
        shares = (
            wilson(sum(e.stands for e in some), len(some))
            for group in (true, other)
            for some in [[e for e in group if e.question.is_structured == is_structured]]
        )
        lines.append(f"  {name_of_kind}: taken, let through: {', '.join(shares)}")
    for key in ("label", "shape", "language"):
        for what, group in (("taken", true), ("let through", other)):
            totals = Counter(each.question.fields[key] for each in group)
            stands = Counter(each.question.fields[key] for each in group if each.stands)
            shares = (f"{value} {stands[value]}/{total}" for value, total in totals.most_common())
            lines.append(f"  {key}, {what}: {', '.join(shares)}")
    return "\n".join(lines)


def main() -> None:
    """Play the forms that are named, and print a report on each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("tune", "held"), default="tune")
    parser.add_argument("--form", action="append", choices=[*FORMS], default=None)
    parser.add_argument("--each", type=int, default=0, help="questions of each kind; 0: all")
    parser.add_argument("--shape", choices=SHAPES, default="all")
    parser.add_argument("--model", default="m")
    parser.add_argument("--answers", type=Path)
    chosen = parser.parse_args()
    url = os.environ["CANON_TEST_MODEL_URL"]
    config = LLMConfig(
        provider="openai", base_url=url, model_id=chosen.model, max_tokens=120, timeout_s=300
    )
    chat, questions = connect(config), sample(chosen.part, chosen.each, SHAPES[chosen.shape])
    for name in chosen.form or FORMS:
        answered = []
        for each in play(FORMS[name], questions, chat):
            answered.append(each)
            if chosen.answers:
                line = {
                    "form": name,
                    "id": each.question.fields["id"],
                    "is_true": each.question.is_true,
                    "reading": each.reading,
                    "answers": each.answers,
                    "seconds": each.seconds,
                }
                with chosen.answers.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.write(report(name, answered) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
