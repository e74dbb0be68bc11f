import pytest
from pydantic import ValidationError

from llm import AnswerError, ModelSettings
from scoring.aie import distractors
from scoring.aie.distractors import Distractors, DistractorView, options, write_distractors
from tests.support.fake_server import ChatRequest, FakeServer

NEAREST = ["Asthma", "COPD", "chronic obstructive pulmonary disease", "pneumonia ", "", "Sepsis", "Gout"]


def view(*candidates: str) -> DistractorView:
    return DistractorView("A man coughs.", "Pneumonia", "Internal Medicine", candidates)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_offline_takes_the_nearest_four_that_mean_something_else(language: "distractors.Language") -> None:
    written = await write_distractors(view(*NEAREST), ModelSettings(), language)
    assert written.names == ["Asthma", "COPD", "Sepsis", "Gout"]


async def test_too_few_candidates_are_a_failure_not_a_guess() -> None:
    with pytest.raises(AnswerError, match="only 1 other diagnoses"):
        await write_distractors(view("Asthma", "asthma"), ModelSettings(), "en")


async def test_a_written_option_that_repeats_the_diagnosis_is_written_again() -> None:
    def answer(request: ChatRequest) -> dict[str, list[str]]:
        third = "Gout" if "'pneumonia' repeats" in request.text else "pneumonia"
        return {"names": ["Asthma", "COPD", third, "Sepsis"]}

    with FakeServer(answer=answer) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        written = await write_distractors(view(), settings, "en")
    assert written.names == ["Asthma", "COPD", "Gout", "Sepsis"] and len(server.requests) == 2


async def test_a_number_is_no_option() -> None:
    def answer(request: ChatRequest) -> dict[str, list[str]]:
        return {"names": ["Asthma", "COPD", "Gout", "Sepsis" if "names no disease" in request.text else "4.0"]}

    with FakeServer(answer=answer) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        assert (await write_distractors(view(), settings, "en")).names == ["Asthma", "COPD", "Gout", "Sepsis"]


def test_there_are_exactly_four() -> None:
    for names in (["a", "b", "c"], ["a", "b", "c", "d", "e"], ["a", "b", "c", " "]):
        with pytest.raises(ValidationError):
            Distractors(names=names)


def test_the_order_of_options_depends_on_the_case_alone() -> None:
    wrong = ["Asthma", "COPD", "Sepsis", "Gout"]
    by_letter, right = options("case-1", "Pneumonia", wrong)
    assert (by_letter, right) == options("case-1", "Pneumonia", wrong)
    assert sorted(by_letter.values()) == sorted(["Pneumonia", *wrong]) and by_letter[right] == "Pneumonia"
    assert len({options(f"case-{number}", "Pneumonia", wrong)[1] for number in range(40)}) == 5
