"""What the values of several keys may be."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
_LAST_PORT = 65_535
Port = Annotated[int, Field(ge=1, le=_LAST_PORT)]
Ports = Annotated[tuple[Port, ...], Field(strict=False, min_length=1)]


def _with_possible_port(host: str) -> str:
    port = host.partition(":")[2]
    if port and not 1 <= int(port) <= _LAST_PORT:
        raise ValueError(f"found {host!r}; a port from 1 to {_LAST_PORT} is allowed")
    return host


Host = Annotated[
    str,
    Field(pattern=r"^[^\s/:\[\]@?#\\\x00-\x1f\x7f]+(:[0-9]{1,5})?$"),
    AfterValidator(_with_possible_port),
]
"""A name or an IPv4 address, with or without a port."""
HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]


class Section(BaseModel):
    """A table of the configuration: unknown keys and wrong types are refused, values are fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())
