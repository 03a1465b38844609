"""What an OpenAI-compatible server does wrong, as one sentence with what to do about it."""

from chart_binder.chat.faults import FAILED, Answered, Asked, Fault, Faults

UNAUTHORIZED = frozenset({401, 403})
NOT_FOUND = 404
_TOO_LONG = (
    "context length",
    "context size",
    "context window",
    "context_length",
    "maximum context",
    "prompt is too long",
    "too many tokens",
)
_ABSENT = ("does not exist", "not found", "not_found", "no such", "unknown model", "invalid model")
_ROLE = ("role", "tool")

ABSENT = Fault("model {model!r} is not on the server at {address}: {detail}")
ROLE = Fault(
    "{server} at {address} refuses the role 'tool' for an observation ({detail}): "
    'set llm.observation_role = "user"'
)
NO_COMPLETIONS = Fault(
    '{server} at {address} has no /completions ({detail}): set llm.prompting = "chat"'
)
STRANGER = Fault(
    "what answers at {address} does not speak OpenAI's format: set llm.base_url to the server's "
    "API, with or without /v1"
)
_OVERFLOW = Fault(
    "the prompt with llm.max_tokens is over the context of model {model!r} at {address} "
    "({detail}): set llm.num_ctx to what the server gives it, or start the server with more"
)
_NO_KEY = Fault(
    "{server} at {address} wants a key ({detail}): set llm.api_key_env to the variable that holds "
    "it"
)
_WRONG_KEY = Fault(
    "{server} at {address} refuses the key ({detail}): look at the variable that llm.api_key_env "
    "names"
)


def is_about_absence(answered: Answered) -> bool:
    """Tell whether the server says that it has no such model."""
    words = answered.words.casefold()
    return (
        answered.status in {0, 400, NOT_FOUND, 422}
        and "model" in words
        and any(mark in words for mark in _ABSENT)
    )


def is_about_role(answered: Answered) -> bool:
    """Tell whether the server's words are about who says a message."""
    return any(mark in answered.words.casefold() for mark in _ROLE)


def _known(answered: Answered, asked: Asked) -> Fault | None:
    words = answered.words.casefold()
    if any(mark in words for mark in _TOO_LONG):
        return _OVERFLOW
    if answered.status in UNAUTHORIZED:
        return _WRONG_KEY if asked.key else _NO_KEY
    return None


OPENAI = Faults(
    absent=Fault(
        "no server answers at {address} ({detail}): start it, or set llm.base_url (usual ports: "
        "vLLM 8000, llama.cpp 8080, LM Studio 1234, Ollama 11434)",
        passing=True,
    ),
    stranger=STRANGER,
    knows=_known,
    statuses=(
        ((0,), Fault("{server} at {address} broke its reply off with an error: {detail}")),
        (range(200, 300), STRANGER),
        (
            range(300, 400),
            Fault("{address} redirects ({detail}): set llm.base_url to the server itself"),
        ),
        (
            (NOT_FOUND, 405),
            Fault(
                "what answers at {address} is no OpenAI-compatible server ({detail}): "
                "set llm.base_url to the server's API, with or without /v1"
            ),
        ),
        (
            (429,),
            Fault(
                "{server} at {address} has had enough requests for now ({detail}): "
                "ask later, or for less at a time",
                passing=True,
            ),
        ),
        (
            (503,),
            Fault(
                "{server} at {address} is busy or still loading ({detail}): ask later, or for less "
                "at a time",
                passing=True,
            ),
        ),
        (
            range(400, 500),
            Fault(
                "{server} at {address} refuses the request for model {model!r} ({detail}): "
                "choose another model, or another setting under [llm]"
            ),
        ),
        (range(500, 600), FAILED),
    ),
)
