"""Print the patterns that our modules compile while they are imported and play two cases, as JSON: place, text, flags.

To be run in a process of its own, which has imported none of them.
"""

import importlib
import json
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_PACKAGES = ("cases", "prompts", "llm", "retrieval", "nodes", "scoring", "graphs")

_compile = re.compile
_found: dict[tuple[str, int], str] = {}


def _noting(pattern: Any, flags: Any = 0) -> Any:
    compiled, code = _compile(pattern, flags), sys._getframe(1)
    file = Path(code.f_code.co_filename)
    if isinstance(compiled.pattern, str) and file.is_relative_to(ROOT):
        _found.setdefault((compiled.pattern, compiled.flags), f"{file.relative_to(ROOT)}:{code.f_lineno}")
    return compiled


def main() -> None:
    """Import, play, and print."""
    re.compile = _noting
    for package in _PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            importlib.import_module(module.name)
    wr = importlib.import_module("wardround")
    cases = wr.load_cases("builtin")
    for language in ("en", "zh"):
        wr.clinical_workflow.invoke({"case": next(case for case in cases if case.language == language)})
    print(json.dumps([[place, *pattern] for pattern, place in _found.items()]))


if __name__ == "__main__":
    main()
