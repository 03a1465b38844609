"""The ways in which a server goes wrong with a model, or does not."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Mood: TypeAlias = Literal["protocol", "bytes", "controls", "numbers"]
Heed: TypeAlias = Literal["exactly", "without bounds", "not", "with 500"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a server makes of a request.

    `mood` is what its model likes to write, `schema` how it heeds a JSON schema. It may hold the
    model to the form of a step (`by_form`), stop after `longest` tokens whatever was asked, go on
    past a stop string, allot a `window` of its own. For our side, `forces` is whether an answer is
    forced when the turns are used up, `times` how many runs there are in each way.
    """

    name: str
    mood: Mood = "protocol"
    schema: Heed = "exactly"
    by_form: bool = False
    longest: int | None = None
    obeys_stop: bool = True
    window: int | None = None
    forces: bool = True
    times: int = 1


SETTINGS: Final = (
    Setting("free", forces=False),
    Setting("by the form", by_form=True, times=3, forces=False),
    Setting("constrained"),
    Setting("infinities", mood="numbers", schema="without bounds", by_form=True),
    Setting("schema ignored", schema="not"),
    Setting("schema refused", schema="with 500"),
    Setting("cut answers", longest=20, by_form=True),
    Setting("gibberish", mood="bytes", schema="not", obeys_stop=False),
    Setting("control characters", mood="controls", schema="not", obeys_stop=False),
    Setting("cut prompts", window=300),
)
