from dataclasses import replace

import pytest

from cases.text.record_sentences import RecordSentence
from cases.vocabulary import Language
from llm import ModelSettings, ask
from llm.role import variables
from nodes.consultation.doctor import DOCTORS, InterviewView, consult_in_order, interview_in_order
from nodes.offline.orders import ordered_results
from nodes.state.chart import Chart, Presentation, Turn
from nodes.state.stage import Options, Recalled
from prompts import load_prompt, load_words
from retrieval import Neighbour, RememberedCase
from tests.support.fake_server import FakeServer

COMPLAINT = "宝宝出生第一天就开始皮肤发黄，两天来越来越黄。"
CHART = Chart(
    language="zh",
    presentation=Presentation(language="zh", chief_complaint=COMPLAINT),
    referral=None,
    triage=None,
    dialogue=[],
    results={},
    pictures=[],
    reports={},
    diagnosis=None,
    decided={},
)
VIEW = InterviewView(
    chart=CHART,
    questions_left=5,
    suggest_examinations=False,
    physical_options=Options((), "zh"),
    auxiliary_options=Options((), "zh"),
    neighbours=Recalled([], ("symptoms",), "zh"),
    mode="direct",
    example="",
)
HEARD = {
    "the complaint, before the first word": VIEW,
    "the doctor": replace(
        VIEW,
        chart=replace(
            CHART, dialogue=[Turn(speaker="doctor", text=COMPLAINT), Turn(speaker="patient", text="不知道。")]
        ),
    ),
    "the patient": replace(VIEW, chart=replace(CHART, dialogue=[Turn(speaker="patient", text=COMPLAINT)])),
}


@pytest.mark.parametrize("view", HEARD.values(), ids=HEARD)
async def test_a_doctor_who_only_says_what_has_been_said_is_asked_once_more(view: InterviewView) -> None:
    said = iter([f"患者：{COMPLAINT}", "宝宝有没有发烧？"])
    with FakeServer(answer=lambda request: {"text": next(said), "finished": False}) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        turn = await ask(DOCTORS["history_taking"], view, settings, language="zh")
    assert turn.text == "宝宝有没有发烧？" and len(server.requests) == 2


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("prompt", sorted({role.prompt for role in DOCTORS.values()}))
def test_what_a_doctor_reads_last_is_what_to_say_now_and_before_it_until_when_it_is_not_the_end(
    prompt: str, language: str
) -> None:
    """Where the last words read were of the end, a small model ended each dialogue with its first sentence."""
    text = load_prompt(prompt, language).render(variables(VIEW))[1]
    end, now = text.rstrip().rsplit("\n\n", 1)
    assert "`finished`" in end and "`finished`" not in now


def test_offline_a_consulting_doctor_orders_physical_examinations_once_whatever_is_found_then() -> None:
    """Once the first were done, other cases were the nearest, and some of the same were ordered again."""
    questions = load_words("medchain/words", "zh")["doctor"]["questions"]
    order = load_words("consultation/words", "zh")["doctor"]
    said = [*questions, order["physical"].format("一般检查；颈部检查；皮肤检查")]
    chart = replace(CHART, dialogue=[Turn(speaker="doctor", text=text) for text in said])
    assert consult_in_order(replace(VIEW, chart=chart)).text.startswith(order["auxiliary"].partition("{")[0])


@pytest.mark.parametrize(
    ("language", "complaint", "ordered"),
    [("en", "I have a lump in my right breast.", "X-ray of the breast"), ("zh", "右乳房有个肿块。", "乳腺X线")],
)
def test_offline_the_x_ray_of_a_breast_is_ordered_by_a_name_that_opens_the_mammogram(
    language: Language, complaint: str, ordered: str
) -> None:
    presentation = Presentation(language=language, chief_complaint=complaint)
    order = load_words("consultation/words", language)["doctor"]["physical"].format("-")
    chart = replace(CHART, language=language, presentation=presentation, dialogue=[Turn(speaker="doctor", text=order)])
    said = consult_in_order(replace(VIEW, chart=chart, questions_left=3)).text
    film = RecordSentence("X-ray", {"en": "Mammography: no calcifications.", "zh": "钼靶：未见钙化。"}[language])
    assert ordered in said and ordered_results([film], said, language) == [film]


@pytest.mark.parametrize(
    ("language", "complaint", "suggested"),
    [("en", "I have a lump in my right breast.", "Chest Examination"), ("zh", "我膝盖疼了三天。", "X线检查")],
)
def test_offline_a_doctor_of_medchain_suggests_what_the_place_of_the_complaint_needs(
    language: Language, complaint: str, suggested: str
) -> None:
    """What the place adds to the votes was not enough, where no similar case had it."""
    chart = replace(CHART, language=language, presentation=Presentation(language=language, chief_complaint=complaint))
    other = RememberedCase(
        id="other",
        verified=True,
        physical_examination={"General Examination": "-"},
        auxiliary_examination={"Blood Test": "-"},
    )
    view = replace(VIEW, chart=chart, questions_left=1, suggest_examinations=True, neighbours=[Neighbour(other, 0.5)])
    assert suggested in interview_in_order(view).text


def asked_to_suggest(seat: int, *neighbours: Neighbour) -> str:
    chart = replace(CHART, language="en", presentation=Presentation(language="en", chief_complaint="I feel tired."))
    view = replace(VIEW, chart=chart, questions_left=1, suggest_examinations=True, neighbours=neighbours, seat=seat)
    return interview_in_order(view).text.partition("I suggest: ")[2]


def test_offline_interns_suggest_examinations_each_by_the_cases_that_it_looks_at() -> None:
    """All interns of a patient without an examiner ordered alike."""
    tests = ({"Blood Test": "-", "Urine Test": "-"}, *({"Blood Test": "-"},) * 4)
    cases = [
        Neighbour(RememberedCase(id=str(place), verified=True, auxiliary_examination=each), 0.5, told=0.5 - place / 100)
        for place, each in enumerate(tests)
    ]
    assert "Urine Test" in asked_to_suggest(3, *cases), "the nearest case alone"
    assert "Urine Test" not in asked_to_suggest(1, *cases) + asked_to_suggest(0, *cases)
    assert "Abdominal Examination" in asked_to_suggest(2) and "Abdominal Examination" not in asked_to_suggest(1)


def test_offline_a_doctor_to_whom_no_examinations_are_listed_suggests_each_once() -> None:
    assert asked_to_suggest(0) == "General Examination; Blood Test"
