"""The base of what is read from files and models: strict about its fields, so that a typing error is found at once."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A value that stays as it was read; a field that it does not know is refused."""

    # Built when it is first read: a command starts without the hundred types that it does not read.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
