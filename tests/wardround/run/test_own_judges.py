"""A metric of a plug-in that asks a judge: its questions are a run's like those of our own judges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm import ModelSpecError
from prompts import laid_over
from tests.support.fake_server import FakeServer
from tests.support.metrics import suites_given_back
from tests.support.runs import calls, results, run, short, spec
from wardround import plugins
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.store.result import Result

JUDGED = """\
from dataclasses import dataclass

from pydantic import BaseModel, Field

import wardround as wr


class Kindness(BaseModel):
    level: int = Field(ge=0, le=4)


@dataclass(frozen=True)
class View:
    plan: str


kindness_judge = wr.Role("kindness_judge", "evaluation", "own/kindness", Kindness, lambda view: Kindness(level=2))


@wr.metric("kindness", suite="medchain")
async def kindness(case, answers, settings):
    view = View(answers.treatment and ", ".join(answers.treatment))
    return (await wr.ask(kindness_judge, view, settings, language=case.language, place="treatment")).level / 4
"""
PROMPT = (
    "---\nrole: kindness_judge\nvariables: [plan]\n---\n# system\nYou judge.\n# user\nHow kind is this? {{ plan }}\n"
)


@pytest.fixture(autouse=True)
def _judged_by_a_plug_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_loaded", {})
    for language in ("en", "zh"):
        (prompt := tmp_path / "words" / language / "own/kindness.md").parent.mkdir(parents=True)
        prompt.write_text(PROMPT, "utf-8")
    (file := tmp_path / f"judged_{tmp_path.name}.py").write_text(JUDGED, "utf-8")
    with suites_given_back(), laid_over(str(tmp_path / "words")):
        plugins.load_plugin(file)
        yield


def judged(judge: FakeServer, folder: Path, name: str = "fake-model", **workflow: Any) -> Experiment:
    models = {"default": "offline", "kindness_judge": spec(judge, name)}
    return short(models=models, limit=2, prices={spec(judge): (10.0, 0.0)}, **workflow).model_copy(
        update={"prompts": str(folder / "words")}
    )


def of_the_judge(out: Path, result: Result) -> list[dict[str, Any]]:
    return [call for call in calls(out, result.case_id) if call["role"] == "kindness_judge"]


def test_its_questions_are_recorded_counted_priced_and_not_asked_again(tmp_path: Path) -> None:
    with FakeServer(answer=lambda request: {"level": 3}) as judge:
        summary = run(judged(judge, tmp_path), tmp_path / "out")
        assert (summary["scored"], summary["scores"]["kindness"]["mean"], len(judge.requests)) == (2, 0.75, 2)
        for result in results(tmp_path / "out"):
            (call,) = of_the_judge(tmp_path / "out", result)
            assert call["answer"] == {"level": 3} and call["model"] == spec(judge)
            assert result.calls == 1 and result.tokens == call["input_tokens"] + call["output_tokens"] > 0
            assert result.cost == pytest.approx(call["input_tokens"] * 10 / 1e6)
        (tmp_path / "out/results.jsonl").unlink()  # as if killed before they were kept
        assert run(judged(judge, tmp_path), tmp_path / "out")["scores"]["kindness"]["mean"] == 0.75
        assert len(judge.requests) == 2


def test_one_that_cannot_be_reached_is_asked_for_again_by_the_next_run_and_nothing_else_is(tmp_path: Path) -> None:
    with FakeServer(answer=lambda request: {"level": 4}, faults=lambda request: "500") as judge:
        experiment = judged(judge, tmp_path, max_attempts=1)
        assert run(experiment, tmp_path / "out")["scores"]["kindness"]["mean"] is None
        for result in results(tmp_path / "out"):
            assert result.unscored["kindness"].startswith("judge failed: model_error: ") and result.scored
        judge.faults = ()
        assert run(experiment, tmp_path / "out")["scores"]["kindness"]["mean"] == 1.0


def test_a_model_that_there_is_not_or_a_misspelt_judge_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    with FakeServer() as judge:
        with pytest.raises(
            ModelSpecError, match=r"models.kindness_judge: .* serves no model 'other'; it serves fake-model"
        ):
            run(judged(judge, tmp_path, "other"), tmp_path / "out")
        with pytest.raises(ValueError, match="unknown role 'kindnes_judge'; did you mean 'kindness_judge'"):
            run(short(models={"default": "offline", "kindnes_judge": spec(judge)}), tmp_path / "out")
        assert judge.requests == []


@pytest.mark.parametrize("key", ["kindness_judge", "default"])
def test_it_is_one_of_the_judges(key: str, tmp_path: Path) -> None:
    with FakeServer(answer=lambda request: {"level": 3} if request.name == "Kindness" else None) as judge:
        more = {"judges": {key: spec(judge)}, "prompts": str(tmp_path / "words")}
        experiment = short(limit=1).model_copy(update=more)
        assert run(experiment, tmp_path / "out")["scores"]["kindness"]["mean"] == 0.75
        assert (len({request.name for request in judge.requests}) > 1) == (key == "default")


def test_one_without_a_prompt_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    with FakeServer() as judge:
        experiment = judged(judge, tmp_path)
        for prompt in (tmp_path / "words").glob("*/own/kindness.md"):
            prompt.unlink()
        with pytest.raises(ConfigurationError, match=r"role 'kindness_judge': there is no file prompts/.*; write it"):
            run(experiment, tmp_path / "out")
        assert judge.requests == []
