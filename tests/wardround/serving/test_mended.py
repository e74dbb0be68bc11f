"""What is mended of LangGraph's in-memory server; on a real one, tests/end_to_end/test_studio.py."""

import sys
from collections import defaultdict
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

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


async def test_an_assistant_gets_the_settings_of_the_version_that_is_chosen_and_a_copied_thread_has_room(
    monkeypatch: Any,
) -> None:
    one, other = uuid4(), uuid4()
    versions = [{"assistant_id": each, "version": 1, "context": {"of": str(each)}} for each in (one, other)]
    assistants = [{"assistant_id": each, "context": "newest"} for each in (one, other)]
    running = defaultdict[str, Any](dict)
    storage: dict[str, Any] = {"copy": {"": "begun"}, "original": running}

    async def same(given: Any, *_: Any, **__: Any) -> Any:
        return given

    theirs = SimpleNamespace(Assistants=SimpleNamespace(set_latest=same), Threads=SimpleNamespace(copy=same))
    keeper = SimpleNamespace(Checkpointer=lambda: SimpleNamespace(storage=storage))
    monkeypatch.setitem(sys.modules, "langgraph_runtime_inmem", SimpleNamespace(checkpoint=keeper, ops=theirs))
    mend()
    connection = SimpleNamespace(store={"assistant_versions": versions, "assistants": assistants})
    assert await theirs.Assistants.set_latest(connection, str(one), 1) is connection
    assert [each["context"] for each in assistants] == [{"of": str(one)}, "newest"]
    assert await theirs.Threads.copy("copied") == "copied"
    assert storage["copy"][""] == "begun" and storage["copy"]["examination"] == {} and storage["original"] is running
