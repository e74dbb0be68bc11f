"""The batch interface of the fake server: files, batches, and answers by line, with the server's faults."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[[Mapping[str, Any]], tuple[int, Mapping[str, Any]] | None]  # None: the batch ends without it


@dataclass
class FakeBatches:
    """What was uploaded, and what becomes of it.

    Attributes:
        answer: the status and body for the body of a request.
        polls: looks at a batch before it is done.
        status: how batches end.
        full: batches that are refused as there are too many.
        away: requests that find the server away.
        batches: by id, the state of each.
    """

    answer: Answer
    polls: int = 1
    status: str = "completed"
    full: int = 0
    away: int = 0
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    _files: dict[str, str] = field(default_factory=dict)

    async def route(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any] | str]:
        """The status and content of the reply to a request."""
        await asyncio.sleep(0)
        if self.away:
            self.away -= 1
            return 503, {"error": {"message": "away"}}
        match method, path.removeprefix("/v1/").split("/"):
            case "POST", ["files"]:
                lines = [line for line in body.decode().splitlines() if line.startswith('{"custom_id"')]
                name = f"file-{len(self._files)}"
                self._files[name] = "\n".join(lines)
                return 200, {"id": name, "object": "file"}
            case "POST", ["batches"]:
                name = f"batch_{len(self.batches)}"
                self.batches[name] = {"id": name, "status": "validating", "looks": 0, **json.loads(body)}
                return 200, self.batches[name]
            case "GET", ["batches", name] if name in self.batches:
                return 200, self._looked_at(self.batches[name])
            case "GET", ["files", name, "content"] if name in self._files:
                return 200, self._files[name]
        return 404, {"error": {"message": f"no {path}"}}

    def _looked_at(self, batch: dict[str, Any]) -> dict[str, Any]:
        batch["looks"] += 1
        if batch["looks"] < self.polls or batch["status"] == self.status:
            return batch
        if self.full:
            self.full -= 1
            return batch | {"status": "failed", "errors": {"data": [{"code": "token_limit_exceeded"}]}}
        batch["status"] = self.status
        if self.status == "failed":
            return batch | {"errors": {"data": [{"message": "line 1: no such endpoint"}]}}
        answered = []
        for line in self._files[batch["input_file_id"]].splitlines():
            asked = json.loads(line)
            if (given := self.answer(asked["body"])) is not None:
                response = {"status_code": given[0], "body": given[1]}
                answered.append(json.dumps({"custom_id": asked["custom_id"], "response": response, "error": None}))
        batch["output_file_id"] = f"{batch['input_file_id']}-answers"
        self._files[batch["output_file_id"]] = "\n".join(answered)
        return batch
