"""The classic dialect: Thought, Action, Action Input, Observation, Final Answer."""

import json
from collections.abc import Iterator, Sequence

from chart_binder.react.conversation import Message
from chart_binder.react.steps import Act, Finish, Malformed, Step
from chart_binder.react.tools import Tool


class Classic:
    """Steps as labelled lines, the form most models know."""

    name = "classic"
    stop = ("\nObservation:",)

    def instructions(self, tools: Sequence[Tool]) -> str:
        """Return the tools and the form of a step."""
        return "\n".join(_instructions(tools))

    def parse(self, reply: str) -> Step:
        """Read one reply."""
        reply = reply.split("\nObservation:", 1)[0]
        thought, _, action = reply.partition("Action:")
        if "Final Answer:" in thought or not action:
            thought, found, answer = reply.partition("Final Answer:")
            if found:
                return Finish(answer.strip(), _thought(thought))
            return Malformed("You wrote neither an Action nor a Final Answer.")
        tool, _, given = action.partition("Action Input:")
        try:
            read = json.loads(given)
        except ValueError:
            read = given.strip()
        arguments = read if isinstance(read, dict) else given.strip()
        return Act(tool.strip(), arguments, _thought(thought))

    def render(self, step: Act | Finish) -> str:
        """Write a step as labelled lines."""
        thought = f"Thought: {step.thought}\n" if step.thought else ""
        if isinstance(step, Finish):
            return f"{thought}Final Answer: {step.answer}"
        given = step.arguments
        written = given if isinstance(given, str) else json.dumps(dict(given), ensure_ascii=False)
        return f"{thought}Action: {step.tool}\nAction Input: {written}"

    def observation(self, content: str) -> Message:
        """Return the observation as the user's message."""
        return Message("user", f"Observation: {content}")


def _thought(text: str) -> str:
    return text.strip().removeprefix("Thought:").strip()


def _instructions(tools: Sequence[Tool]) -> Iterator[str]:
    yield "You can use these tools:"
    for tool in tools:
        yield f"- {tool.signature}: {tool.description}"
    yield ""
    yield "Write each turn in exactly this form:"
    yield "Thought: what you know and what is missing"
    yield "Action: the name of one tool"
    yield 'Action Input: its arguments as one JSON object, such as {"query": "..."}'
    yield ""
    yield "Then stop. The answer comes back as an Observation. When you know enough, write instead:"
    yield "Thought: what the answer rests on"
    yield "Final Answer: the answer"
