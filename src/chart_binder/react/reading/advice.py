"""What a model is told about a turn that cannot be read, in the words of its own dialect."""

from dataclasses import dataclass
from typing import Final

from chart_binder.react.steps import Malformed

_ANY_TOOL: Final = "the name of one tool"


@dataclass(frozen=True, slots=True)
class Wording:
    """What a dialect calls the parts of a turn.

    `given` is where a call's arguments stand, `call` shows a call of `{tool}`, `finish` an answer.
    """

    action: str
    answer: str
    observation: str
    given: str
    call: str
    finish: str

    @property
    def form(self) -> str:
        """A whole turn."""
        call = self.call.replace("{tool}", _ANY_TOOL)
        return f"{call}\nor, when you know enough,\n{self.finish}"


@dataclass(frozen=True, slots=True)
class Defect:
    """Why there is no step: the key of a sentence below, with what it says."""

    kind: str
    problem: str = ""
    tool: str = ""
    notes: tuple[str, ...] = ()


_SENTENCES: Final = {
    "empty": "Your reply was empty.",
    "unclosed thinking": "You opened a thinking block, and your whole reply stayed inside it.",
    "only thinking": "You only thought: outside the thinking block your reply was empty.",
    "observation": (
        "You wrote {an_observation} yourself. Observations come from the tools alone, so nothing "
        "after that line was read."
    ),
    "speaker": (
        "You wrote a line for somebody else, such as the user. Only your own turn counts, so "
        "nothing from that line on was read."
    ),
    "called": (
        "You wrote a call where it asks for nothing, and then {an_answer}. No tool was called, so "
        "no answer can rest on what it would say."
    ),
    "passed on": (
        "Your {answer} stands right under words that tell what somebody else says, as if you "
        "quoted it. If it is your own, write it again with nothing but your own reasons before it."
    ),
    "pause": "You wrote PAUSE with no {action} before it.",
    "input": "You wrote an Action Input with no Action before it.",
    "no tool": "You wrote {an_action} that names no tool, and no {answer} after it.",
    "no tool in object": "You wrote a JSON object as {action} that names no tool.",
    "empty answer": "You wrote {answer} with nothing after it.",
    "fenced": (
        "Your {action} or {answer} stands inside a code fence or a quotation, where it is only "
        "an example. Write it outside."
    ),
    "thought": "Your {action} or {answer} stands inside your thought. Write it after the thought.",
    "inline": "Your {problem} stands in the middle of a line. It must begin a line of its own.",
    "among words": (
        "A JSON object stands among your other words, as if you quoted it. If it is your turn, "
        "write nothing after it, or use the form below."
    ),
    "turn": "Your reply looks like JSON, but cannot be read: {problem}.",
    "given": (
        "Your {given} cannot be read: {problem}. Write the whole call again, with one JSON object "
        "in double quotes:"
    ),
    "neither": "You wrote neither {an_action} nor {an_answer}.",
}


def worded(defect: Defect, wording: Wording) -> Malformed:
    """Return the advice about a defect: what it is, then the form that is right."""
    sentence = _SENTENCES[defect.kind].format(
        action=wording.action,
        an_action=_with_article(wording.action),
        answer=wording.answer,
        an_answer=_with_article(wording.answer),
        an_observation=_with_article(wording.observation),
        given=wording.given,
        problem=defect.problem,
    )
    if defect.kind == "given":
        right = wording.call.replace("{tool}", defect.tool or _ANY_TOOL)
        return Malformed(f"{sentence}\n{right}", defect.notes)
    return Malformed(f"{sentence} Write either\n{wording.form}", defect.notes)


def _with_article(noun: str) -> str:
    return f"{'an' if noun.lstrip('<')[0] in 'AEIOUaeiou' else 'a'} {noun}"
