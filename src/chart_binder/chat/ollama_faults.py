"""What an Ollama server does wrong, as one sentence with what to do about it."""

from chart_binder.chat.faults import FAILED, Answered, Asked, Fault, Faults

NOT_FOUND = 404
_STRANGER = Fault(
    "what answers at {address} does not speak Ollama's format: set llm.base_url to an Ollama server"
)
_ABSENT = Fault("model {model!r} is not on the server at {address}: ollama pull {model}")


def _known(answered: Answered, asked: Asked) -> Fault | None:
    del asked
    if answered.status == NOT_FOUND and "model" in answered.words:
        return _ABSENT if "not found" in answered.words else None
    return None


OLLAMA = Faults(
    absent=Fault(
        "Ollama does not answer at {address} ({detail}): start it with `ollama serve`, "
        "or set llm.base_url",
        passing=True,
    ),
    stranger=_STRANGER,
    knows=_known,
    statuses=(
        ((0,), Fault("Ollama at {address} broke its reply off with an error: {detail}")),
        (range(200, 300), _STRANGER),
        (
            range(300, 400),
            Fault("{address} redirects ({detail}): set llm.base_url to the Ollama server itself"),
        ),
        (
            (401, 403),
            Fault(
                "Ollama at {address} refuses the request ({detail}): "
                "set llm.api_key_env to the variable that holds its key"
            ),
        ),
        (
            (NOT_FOUND, 405),
            Fault(
                "what answers at {address} is no Ollama server ({detail}): "
                "set llm.base_url to an Ollama server"
            ),
        ),
        (
            (429,),
            Fault(
                "Ollama at {address} has had enough requests for now ({detail}): ask later, or for "
                "less at a time",
                passing=True,
            ),
        ),
        (
            (503,),
            Fault(
                "Ollama at {address} is busy ({detail}): ask for less at a time, or raise its "
                "OLLAMA_MAX_QUEUE",
                passing=True,
            ),
        ),
        (
            range(400, 500),
            Fault(
                "Ollama at {address} refuses the request for model {model!r} ({detail}): "
                "choose a model that can chat, or another setting under [llm]"
            ),
        ),
        (range(500, 600), FAILED),
    ),
)
