"""What a server was started with: its token, the pages that may call it, and what a run there may reach for.

The server is a process of its own: `wardround dev` hands this on in one variable of the environment, which other users
of the machine cannot read, as they could a command line.
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
# Settings of a graph by which a run reaches for a file, a server or a model, beside what is built in.
REACHING = ("models", "case_source", "memory", "embedding", "cache", "trace_file", "example")
_EVERY_NAME = "*"


class Allowed(BaseModel):
    """What this server's configuration allows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str = Field(
        default_factory=lambda: os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24),
        min_length=16,
        pattern=r"[\w-]+$",
    )
    origins: tuple[str, ...] = (STUDIO,)
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict, description="By setting, besides the default.")
    blocks: ModelBlocks = Field(default_factory=dict, description="Models with parameters, which runs name.")
    open_page: bool = False

    def admits(self, setting: str, value: str) -> bool:
        """Whether a run may give a setting this value, where it is not the setting's default."""
        listed = self.values.get(setting, ())
        if setting == "models":
            return value in WITHOUT_MODEL or any(_is_covered(value, entry) for entry in listed)
        return value in listed

    @property
    def choices(self) -> list[str]:
        """What a form offers for a role: no more than runs may name, for servers of which any model may be named."""
        return list(dict.fromkeys([*WITHOUT_MODEL, *self.blocks, *self.values.get("models", ())]))

    @property
    def any_of_a_server(self) -> bool:
        """Whether a server's models are allowed whatever they are called."""
        return any(ModelSpec.parse(entry).name == _EVERY_NAME for entry in self.values.get("models", ()))

    @property
    def picture_folders(self) -> list[str]:
        """The folders of the case files, and of the examples, that runs may name."""
        files = [*self.values.get("case_source", ()), *self.values.get("example", ())]
        return [str(Path(file).resolve().parent) for file in files]


@cache
def allowed() -> Allowed:
    """What stands in the environment; where the server was started without us, what is built in and a new token."""
    given = os.environ.get(VARIABLE)
    return Allowed.model_validate_json(given) if given else Allowed()


def _is_covered(spec: str, entry: str) -> bool:
    """Whether an entry is the spec, or all models of the same provider at the same server."""
    if spec == entry:
        return True
    try:
        asked, listed = ModelSpec.parse(spec), ModelSpec.parse(entry)
    except ModelSpecError:
        return False
    return listed.name == _EVERY_NAME and (asked.provider, asked.base_url) == (listed.provider, listed.base_url)
