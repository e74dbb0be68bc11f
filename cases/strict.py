"""The base class and the text type of values read from files and models.

Unknown fields are errors, so that typos are found.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Strict(BaseModel):
    """A value that stays as it was read; a field that it does not know is refused."""

    # Deferred, so that a command does not build the hundred types that it does not use.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
