"""The numbers that the papers and their releases print, for comparison with ours."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def published(name: str) -> Mapping[str, Any]:
    """Return the printed cells of ``aie``, ``aie_simulators``, ``medpmc`` or ``ai_hospital``, by table."""
    return tomllib.loads(Path(__file__).with_name(f"published_{name}.toml").read_text("utf-8"))
