"""The base class of values read from files and models; unknown fields are errors, so that typos are found."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A value that stays as it was read; a field that it does not know is refused."""

    # Deferred, so that a command does not build the hundred types that it does not use.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
