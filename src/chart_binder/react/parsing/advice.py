"""The rules for reading the replies of a dialect, and the advice for an unreadable reply."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from chart_binder.react.steps import Unreadable

Writing: TypeAlias = Literal["classic", "pause", "labels", "tags", "object"]
"""The form of a step; `labels` are those that `classic` and `pause` share."""

_ANY_TOOL: Final = "the name of one tool"
_DIALECTS_OF: Final[dict[Writing, tuple[str, ...]]] = {
    "classic": ("classic",),
    "pause": ("pause",),
    "labels": ("classic", "pause"),
    "tags": ("xml",),
}
"""The dialects that a form belongs to; an object belongs to all dialects."""
ADVICE: Final = {
    "countless": "Your reply has too many lines, tags or marks to be read.",
    "passed on": (
        "Your {answer} stands under words that name a source, give an example or say that you do "
        "not mean it, as if you quoted it. If it is your own, write it again with nothing but your "
        "own reasons before it."
    ),
    "thinking": "You only thought: outside the thinking block your reply was empty.",
    "empty": "Your reply was empty.",
    "observation": (
        "You wrote {an_observation} yourself. Observations come from the tools alone, so nothing "
        "after that line was read."
    ),
    "speaker": (
        "You wrote a line for somebody else, such as the user. Only your own turn counts, so "
        "nothing from that line on was read."
    ),
    "pause": "You wrote PAUSE with no {action} before it.",
    "empty answer": "You wrote {answer} with nothing after it.",
    "several": "You wrote {answer} more than once, and differently each time. Write it once.",
    "withdrawn": "You took back your {answer} in the words behind it.",
    "cut": "A line of your {answer} begins as another part of a turn, so its end is not clear.",
    "no tool": "You wrote {an_action} that names no tool, and no {answer} after it.",
    "input": "You wrote an Action Input with no Action before it.",
    "thought": "Your {action} or {answer} stands inside your thought. Write it after the thought.",
    "fenced": (
        "Your {action} or {answer} stands inside a code fence or a quotation, where it is only "
        "an example. Write it outside."
    ),
    "inline": "Your {problem} stands in the middle of a line. It must begin a line of its own.",
    "among words": (
        "A JSON object stands among your other words, as if you quoted it. If it is your turn, "
        "write nothing after it, or use the form below."
    ),
    "unlabelled": (
        "You wrote a JSON object without {answer} before it, and it is not clear that it is your "
        "answer."
    ),
    "called": (
        "You wrote a call where it asks for nothing, and then {an_answer}. No tool was called, so "
        "no answer can rest on what it would say."
    ),
    "turn": "Your reply looks like JSON, but cannot be read: {problem}.",
    "arguments": (
        "Your {arguments} cannot be read: {problem}. Write the whole call again, with one JSON "
        "object in double quotes:"
    ),
    "neither": "You wrote neither {an_action} nor {an_answer}.",
}
"""The advice on each kind of problem; if a reply has several, the first one here is used."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The names that a dialect has for the parts of a turn.

    `arguments` names the place of a call's arguments. `call` shows a call of `{tool}`, and `finish`
    an answer.
    """

    action: str
    answer: str
    observation: str
    arguments: str
    call: str
    finish: str


@dataclass(frozen=True, slots=True)
class DialectRules:
    """The rules for reading the replies of a dialect.

    The tags `dialect_tags` belong to the dialect; in others they mark hidden thinking. If a turn
    may have `several` calls, each gets an id.
    """

    name: str
    wording: Wording
    dialect_tags: frozenset[str] = frozenset()
    several: bool = False

    def notes_on(self, writing: Writing) -> tuple[str, ...]:
        """Return a note if a step was written in another dialect."""
        dialects = _DIALECTS_OF.get(writing, (self.name,))
        return () if self.name in dialects else (f"written in the {dialects[0]} dialect",)


NO_DIALECT: Final = DialectRules(
    "any", Wording("call", "answer", "observation", "call", "call", "answer")
)
"""The rules for replies for which no advice is shown."""


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """Why a reply has no step: a key of `ADVICE`, and the details for its text."""

    kind: str
    detail: str = ""
    tool: str = ""
    notes: tuple[str, ...] = ()

    def to_advice(self, wording: Wording) -> Unreadable:
        """Return the advice for the model: the problem, then the right form."""
        sentence = ADVICE[self.kind].format(
            action=wording.action,
            an_action=_with_article(wording.action),
            answer=wording.answer,
            an_answer=_with_article(wording.answer),
            an_observation=_with_article(wording.observation),
            arguments=wording.arguments,
            problem=self.detail,
        )
        if self.kind == "arguments":
            right = wording.call.replace("{tool}", self.tool or _ANY_TOOL)
            return Unreadable(f"{sentence}\n{right}", self.notes)
        call = wording.call.replace("{tool}", _ANY_TOOL)
        form = f"{call}\nor, when you know enough,\n{wording.finish}"
        return Unreadable(f"{sentence} Write either\n{form}", self.notes)


def _with_article(noun: str) -> str:
    return f"{'an' if noun.lstrip('<')[0] in 'AEIOUaeiou' else 'a'} {noun}"
