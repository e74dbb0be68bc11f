"""What is mended of LangGraph's in-memory server; on a real one, tests/end_to_end/test_studio.py."""

import sys
from types import SimpleNamespace
from typing import Any

from wardround.serving.mended import mend


async def test_a_server_that_keeps_its_records_otherwise_is_left_as_it_is(monkeypatch: Any) -> None:
    """The request would have ended in an error, after the version had been chosen."""

    async def chosen(conn: Any, assistant_id: str, version: int, *, ctx: Any) -> str:
        return f"{assistant_id} {version} {ctx}"

    theirs = SimpleNamespace(Assistants=SimpleNamespace(set_latest=chosen), Threads=SimpleNamespace(copy=chosen))
    monkeypatch.setitem(sys.modules, "langgraph_runtime_inmem", SimpleNamespace(checkpoint=None, ops=theirs))
    mend()
    kept = {"assistant_versions": [{"assistant_id": "a", "version": 2}], "assistants": [{"assistant_id": "a"}]}
    for store in (kept, {}):
        found = await theirs.Assistants.set_latest(SimpleNamespace(store=store), "a", version=2, ctx="all")
        assert found == "a 2 all"
    assert kept["assistants"] == [{"assistant_id": "a"}]
