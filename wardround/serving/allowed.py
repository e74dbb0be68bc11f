"""What a server was started with: its token, the pages that may call it, and what its runs may use.

The server is a separate process: `wardround dev` passes this on in one environment variable, which other users of the
machine cannot read, unlike a command line.
"""

import os
import secrets
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from llm.blocks import ModelBlocks
from llm.errors import ModelSpecError
from llm.specs import WITHOUT_MODEL, ModelSpec

VARIABLE = "WARDROUND_SERVER"
TOKEN_VARIABLE = "WARDROUND_TOKEN"
STUDIO = "https://smith.langchain.com"  # the page that LangGraph's server is made for
# Graph settings that name a file, a server or a model; built-in ones are always allowed.
ALLOWABLE = ("models", "case_source", "memory", "embedding", "cache", "example")
REACHING = (*ALLOWABLE, "trace_file")  # which no run on a server may set
ANY_NAME = "*"


class Allowed(BaseModel):
    """What this server's configuration allows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str = Field(
        default_factory=lambda: os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24),
        validate_default=True,
        min_length=16,
        pattern=r"^[\w-]+$",
    )
    origins: tuple[str, ...] = (STUDIO,)
    values: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Allowed values by setting, besides the default."
    )
    blocks: ModelBlocks = Field(
        default_factory=dict, description="Models with parameters, which runs refer to by name."
    )
    open_page: bool = False

    def admits(self, setting: str, value: str) -> bool:
        """Whether a run may give a setting this value, if it is not the default."""
        listed = self.values.get(setting, ())
        if setting == "models":
            return value in WITHOUT_MODEL or any(_is_covered(value, entry) for entry in listed)
        return value in listed

    @property
    def choices(self) -> list[str]:
        """The choices of a form for a role: what runs may name; of a server with any model allowed, not all models."""
        return list(dict.fromkeys([*WITHOUT_MODEL, *self.blocks, *self.values.get("models", ())]))

    @property
    def any_of_a_server(self) -> bool:
        """Whether any model of some server is allowed, whatever its name."""
        return any(ModelSpec.parse(entry).name == ANY_NAME for entry in self.values.get("models", ()))

    @property
    def picture_folders(self) -> list[str]:
        """The folders of the case files and examples that runs may name."""
        files = [*self.values.get("case_source", ()), *self.values.get("example", ())]
        return [str(Path(file).resolve().parent) for file in files]


@cache
def allowed() -> Allowed:
    """Read the environment variable; without it, only what is built in is allowed, with a new token."""
    given = os.environ.get(VARIABLE)
    return Allowed.model_validate_json(given) if given else Allowed()


def _is_covered(spec: str, entry: str) -> bool:
    """Whether an entry equals the spec, or covers all models of its provider and server."""
    if spec == entry:
        return True
    try:
        requested, listed = ModelSpec.parse(spec), ModelSpec.parse(entry)
    except ModelSpecError:
        return False
    return listed.name == ANY_NAME and (requested.provider, requested.base_url) == (listed.provider, listed.base_url)
