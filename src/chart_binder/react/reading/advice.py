"""What a model is told about a turn that cannot be read."""

from typing import Final

FORM: Final = """Write either
Action: the name of one tool
Action Input: {"argument": "value"}
or, when you know enough,
Final Answer: your answer"""

_DEFECTS: Final = {
    "empty": "Your reply was empty.",
    "unclosed thinking": "You opened a thinking block, and your whole reply stayed inside it.",
    "only thinking": "You only thought: outside the thinking block your reply was empty.",
    "observation": (
        "You wrote an Observation yourself. Observations come from the tools alone, so nothing "
        "after that line was read."
    ),
    "input": "You wrote an Action Input with no Action before it.",
    "no tool": "You wrote an Action that names no tool, and no Final Answer after it.",
    "no tool in object": "You wrote a JSON object after Action that names no tool.",
    "empty answer": "You wrote Final Answer with nothing after it.",
    "fenced": (
        "Your Action or Final Answer stands inside a code fence or a quotation, where it is only "
        "an example. Write it outside."
    ),
    "inline": "Your {label} stands in the middle of a line. It must begin a line of its own.",
    "neither": "You wrote neither an Action nor a Final Answer.",
}


def about(defect: str, **details: str) -> str:
    """Return the advice for a defect, with the form that is right."""
    return f"{_DEFECTS[defect].format(**details)} {FORM}"


def about_input(tool: str, problem: str) -> str:
    """Return the advice for an action whose input cannot be read."""
    return (
        f"Your Action Input cannot be read: {problem}. Write the whole action again, with one JSON "
        f'object in double quotes:\nAction: {tool}\nAction Input: {{"argument": "value"}}'
    )


def about_turn(problem: str) -> str:
    """Return the advice for a turn written as JSON that cannot be read."""
    return f"Your reply looks like JSON, but cannot be read: {problem}. {FORM}"
