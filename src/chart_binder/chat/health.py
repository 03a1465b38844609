"""Whether a model server can do what the configuration asks of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """What was found; each problem is a sentence that ends in what to do about it.

    `server` is what the server calls itself, `context_length` the context in tokens that the model
    can have there, if its server tells; `loaded_length` the one that it has at the moment, loaded.
    """

    address: str
    model_id: str
    server: str | None = None
    models: tuple[str, ...] = ()
    context_length: int | None = None
    problems: tuple[str, ...] = ()
    loaded_length: int | None = None

    @property
    def is_well(self) -> bool:
        """Whether the model can be asked as things are."""
        return not self.problems


PATIENCE_S = 10.0  # none of the questions makes a server load a model
