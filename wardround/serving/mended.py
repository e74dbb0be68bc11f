"""Two faults of LangGraph's in-memory server, mended while ours runs.

Both are in langgraph-runtime-inmem 0.36. Where another version keeps its records otherwise, it is left as it is; once
`tests/end_to_end/test_studio.py` passes without this file, delete it.
"""

from collections import defaultdict
from contextlib import suppress
from typing import Any


def mend() -> None:
    """Mend what an earlier version of an assistant runs with, and a copied thread that goes on."""
    with suppress(ImportError, AttributeError):  # another runtime, or another version of it
        from langgraph_runtime_inmem import checkpoint, ops

        choose, copy = ops.Assistants.set_latest, ops.Threads.copy

        async def choose_with_its_settings(conn: Any, assistant_id: Any, version: int, *rest: Any, **named: Any) -> Any:
            """Give the assistant the settings of the version that is chosen; it kept those of the newest."""
            found = await choose(conn, assistant_id, version, *rest, **named)
            with suppress(KeyError):
                stored = [one for one in conn.store["assistant_versions"] if _is(one, assistant_id)]
                settings = {one["version"]: one["context"] for one in stored}[version]
                for assistant in (one for one in conn.store["assistants"] if _is(one, assistant_id)):
                    assistant["context"] = settings
            return found

        async def copy_with_room(*arguments: Any, **named: Any) -> Any:
            """Let parts of the graph begin in a copy; it had room only for those that had begun in the original."""
            copied = await copy(*arguments, **named)
            storage = checkpoint.Checkpointer().storage
            storage.update({one: defaultdict(dict, kept) for one, kept in storage.items() if type(kept) is dict})
            return copied

        ops.Assistants.set_latest = staticmethod(choose_with_its_settings)
        ops.Threads.copy = staticmethod(copy_with_room)


def _is(one: dict[str, Any], assistant_id: Any) -> bool:
    return str(one["assistant_id"]) == str(assistant_id)
