"""The tokens of a tiny model: every byte, and the pieces that protocols are made of.

Pieces make a model of random weights write what small models write by mistake: half a protocol,
the labels of another dialect, a control token, an observation of its own.
"""

import re
from collections.abc import Sequence
from typing import Final

END: Final = b"<|end|>"
PIECES: Final = tuple(
    piece.encode()
    for piece in (
        *("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "Answer:"),
        *("\nObservation", "\nThought: ", "\nAction: ", "\nAction Input: ", "\nFinal Answer: "),
        *("PAUSE", "**", "思考：", "行动：", "观察：", "最终答案：", "```", "```json\n", "\n\n"),
        *("<think>", "</think>", "<thought>", "</thought>", "<tool_call>", "</tool_call>"),
        *("<response>", "</response>", "<observation>", "</observation>", "<tool_response>"),
        *("<|im_end|>", "<|eot_id|>", "[/INST]", "<end_of_turn>", "<function=", "</s>"),
        *("web_search", "web_fetch", "functions.web_search", "finish", "None", "null", "true"),
        *('{"', '"}', '": "', '", "', '{"query": "', '{"url": "', '"arguments": {', '"name": "'),
        *('"crg_mbid": "', '"rr_mbid": "', '"confidence": ', '"rationale": "', '"facts": ['),
        *('"about": "', '"field": "', '"value": "', '"source": "', "first_release_date"),
        *("C1", "C2", "C3", "C1.R1", "C2.R1", "0.9", "90%", "1e999", "NaN", "Infinity", "-0"),
        *("https://discography.example/single", "1975-10-31", "1975", "31 October 1975"),
        *(" the", " single", " album", " came out", " in", " I", " know", "é", "日本", "🎵"),
    )
)
TOKENS: Final = (*(bytes([byte]) for byte in range(256)), *dict.fromkeys(PIECES), END)
END_ID: Final = len(TOKENS) - 1
_IDS: Final = {token: number for number, token in enumerate(TOKENS)}
_LONGEST_FIRST: Final = re.compile(
    b"|".join(map(re.escape, sorted(PIECES, key=len, reverse=True))) + b"|.", re.DOTALL
)


def tokens_of(text: str | bytes) -> list[int]:
    """Return a text as tokens, the longest piece first; the end of a reply is no text."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return [_IDS[piece] for piece in _LONGEST_FIRST.findall(data)]


def numbers_of(pieces: Sequence[bytes]) -> list[int]:
    """Return the tokens that are these pieces."""
    return [_IDS[piece] for piece in pieces]
