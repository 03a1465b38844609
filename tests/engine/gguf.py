"""A llama of random weights, small enough for a test, as a GGUF file.

The format is llama.cpp's: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.vocabulary import PIECES

WIDTH: Final = 64
HEADS: Final = 4
WIDE: Final = 128
BLOCKS: Final = 2
CONTEXT: Final = 32_768
ALIGNMENT: Final = 32

_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY, _INT32 = 4, 6, 7, 8, 9, 5
_F32_TENSOR: Final = 0
_UNKNOWN, _NORMAL, _CONTROL, _BYTE = 2, 1, 3, 6


def write_gguf(path: Path, seed: int) -> None:
    """Write a model with the bytes and the pieces of `vocabulary` for its tokens."""
    tokens = list(_tokens())
    tensors = list(_tensors(np.random.default_rng(seed), len(tokens)))
    facts = _facts(tokens)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(facts))
    with path.open("wb") as file:
        file.write(head)
        for key, value in facts.items():
            file.write(_text(key) + value)
        offset = 0
        for name, values in tensors:
            shape = values.shape[::-1]
            dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
            file.write(_text(name) + dimensions + struct.pack("<IQ", _F32_TENSOR, offset))
            offset += _aligned(values.nbytes)
        file.write(bytes(_aligned(file.tell()) - file.tell()))
        for _, values in tensors:
            file.write(values.tobytes() + bytes(_aligned(values.nbytes) - values.nbytes))


def _tokens() -> Iterator[tuple[str, int]]:
    yield "<unk>", _UNKNOWN
    yield "<s>", _CONTROL
    yield "</s>", _CONTROL
    for byte in range(256):
        yield f"<0x{byte:02X}>", _BYTE
    for piece in PIECES:
        text = piece.decode().replace(" ", "\u2581")
        if text != "</s>":
            yield text, _NORMAL


def _facts(tokens: Sequence[tuple[str, int]]) -> Mapping[str, bytes]:
    return {
        "general.architecture": _string("llama"),
        "general.name": _string("random"),
        "general.alignment": _uint32(ALIGNMENT),
        "llama.context_length": _uint32(CONTEXT),
        "llama.embedding_length": _uint32(WIDTH),
        "llama.block_count": _uint32(BLOCKS),
        "llama.feed_forward_length": _uint32(WIDE),
        "llama.rope.dimension_count": _uint32(WIDTH // HEADS),
        "llama.attention.head_count": _uint32(HEADS),
        "llama.attention.head_count_kv": _uint32(HEADS),
        "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", _FLOAT32, 1e-5),
        "tokenizer.ggml.model": _string("llama"),
        "tokenizer.ggml.tokens": _array(_STRING, [_text(text) for text, _ in tokens]),
        "tokenizer.ggml.scores": _array(
            _FLOAT32, [struct.pack("<f", -float(number)) for number in range(len(tokens))]
        ),
        "tokenizer.ggml.token_type": _array(
            _INT32, [struct.pack("<i", kind) for _, kind in tokens]
        ),
        "tokenizer.ggml.unknown_token_id": _uint32(0),
        "tokenizer.ggml.bos_token_id": _uint32(1),
        "tokenizer.ggml.eos_token_id": _uint32(2),
        "tokenizer.ggml.add_bos_token": struct.pack("<I?", _BOOL, True),
        "tokenizer.chat_template": _string(
            "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
        ),
    }


def _tensors(random: Any, tokens: int) -> Iterator[tuple[str, Any]]:
    def weights(rows: int, columns: int, spread: float = 1.0) -> Any:
        return (random.normal(0, spread / np.sqrt(columns), (rows, columns))).astype(np.float32)

    ones: Any = np.ones(WIDTH, np.float32)
    yield "token_embd.weight", weights(tokens, WIDTH)
    for block in range(BLOCKS):
        here = f"blk.{block}"
        yield f"{here}.attn_norm.weight", ones
        for part in ("q", "k", "v", "output"):
            yield f"{here}.attn_{part}.weight", weights(WIDTH, WIDTH)
        yield f"{here}.ffn_norm.weight", ones
        yield f"{here}.ffn_gate.weight", weights(WIDE, WIDTH)
        yield f"{here}.ffn_up.weight", weights(WIDE, WIDTH)
        yield f"{here}.ffn_down.weight", weights(WIDTH, WIDE)
    yield "output_norm.weight", ones
    yield "output.weight", weights(tokens, WIDTH, 2.0)


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _string(text: str) -> bytes:
    return struct.pack("<I", _STRING) + _text(text)


def _uint32(number: int) -> bytes:
    return struct.pack("<II", _UINT32, number)


def _array(kind: int, values: Sequence[bytes]) -> bytes:
    return struct.pack("<IIQ", _ARRAY, kind, len(values)) + b"".join(values)
