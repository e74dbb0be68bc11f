"""The batch API of the fake server: files, batches, and answers by line, with the server's faults."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[[Mapping[str, Any]], tuple[int, Mapping[str, Any]] | None]  # None: no answer in the batch


@dataclass
class FakeBatches:
    """The batch API's state and its faults.

    Attributes:
        answer: returns the status and body for the body of a request.
        polls: how often a batch is polled before it is done.
        status: the final status of batches.
        full: number of batches to refuse as too many.
        away: number of requests to answer with 503.
        refusing: the status and message of each answer.
        lost: number of created batches whose reply is lost.
        lag: number of listings in which a new batch is still missing.
        cut: number of downloads to truncate within their last line.
        page: number of polls to answer with an HTML page and 200.
        gone: number of polls to answer with 404.
        second: the status and body of a second line for each question.
        error_file: the id of a file of errors that there is not.
        ascii: whether lines escape non-ASCII characters.
        batches: the state of each batch by id.
    """

    answer: Answer
    polls: int = 1
    status: str = "completed"
    full: int = 0
    away: int = 0
    refusing: tuple[int, str] | None = None
    lost: int = 0
    lag: int = 0
    cut: int = 0
    page: int = 0
    gone: int = 0
    second: tuple[Any, Any] | None = None
    error_file: str | None = None
    ascii: bool = True
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    _files: dict[str, str] = field(default_factory=dict)

    async def route(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any] | str]:
        """Return the status and content of the reply to a request."""
        await asyncio.sleep(0)
        if self.away:
            self.away -= 1
            return 503, {"error": {"message": "away"}}
        if self.refusing:
            return self.refusing[0], {"error": {"message": self.refusing[1]}}
        if self.page and method == "GET":
            self.page -= 1
            return 200, "<html>"
        match method, path.partition("?")[0].removeprefix("/v1/").split("/"):
            case "POST", ["files"]:
                lines = [line for line in body.decode().splitlines() if line.startswith('{"custom_id"')]
                name = f"file-{len(self._files)}"
                self._files[name] = "\n".join(lines)
                return 200, {"id": name, "object": "file"}
            case "POST", ["batches"]:
                name = f"batch_{len(self.batches)}"
                self.batches[name] = {
                    "id": name,
                    "status": "validating",
                    "looks": 0,
                    "lag": self.lag,
                    **json.loads(body),
                }
                self.lost -= (lost := self.lost > 0)
                return (503, {"error": {"message": "lost"}}) if lost else (200, self.batches[name])
            case "GET", ["batches"]:
                listed = [batch for batch in self.batches.values() if batch["lag"] <= 0]
                for batch in self.batches.values():
                    batch["lag"] -= 1
                return 200, {"data": listed[::-1], "has_more": False}
            case "GET", ["batches", _] if self.gone:
                self.gone -= 1
            case "GET", ["batches", name] if name in self.batches:
                return 200, self._polled(self.batches[name])
            case "GET", ["files", name, "content"] if name in self._files:
                self.cut -= (cut := self.cut > 0)
                return 200, self._files[name][: -9 if cut else None]
        return 404, {"error": {"message": f"no {path}"}}

    def _polled(self, batch: dict[str, Any]) -> dict[str, Any]:
        batch["looks"] += 1
        if batch["looks"] < self.polls or batch["status"] in (self.status, "failed"):
            return batch
        if self.full:
            self.full -= 1
            batch |= {"status": "failed", "errors": {"data": [{"code": "token_limit_exceeded"}]}}
            return batch
        batch["status"] = self.status
        if self.status == "failed":
            return batch | {"errors": {"data": [{"message": "line 1: no such endpoint"}]}}
        answered, batch["error_file_id"] = [], self.error_file
        for line in self._files[batch["input_file_id"]].splitlines():
            asked = json.loads(line)
            for given in filter(None, (self.answer(asked["body"]), self.second)):
                response = {"status_code": given[0], "body": given[1]}
                line = {"custom_id": asked["custom_id"], "response": response, "error": None}
                answered.append(json.dumps(line, ensure_ascii=self.ascii))
        batch["output_file_id"] = f"{batch['input_file_id']}-answers"
        self._files[batch["output_file_id"]] = "\n".join(answered)
        return batch
