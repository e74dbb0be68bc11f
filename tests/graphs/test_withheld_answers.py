"""What CliniChat withholds reaches nobody who must not know it: the bodies of all requests are read for it."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from cases.note_files import read_notes
from cases.vocabulary import CLINICHAT_DEPARTMENTS
from graphs import consultation, dispute_resolution, reconstruction
from llm import ModelSettings
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.suite import SUITES
from tests.graphs.scripting import builtin
from tests.support.fake_server import ChatRequest, FakeServer

GRAPHS: Any = {
    "consultation": consultation,
    "dispute_resolution": dispute_resolution,
    "reconstruction": reconstruction,
}
ANSWER, WRONG = "Qanarosis", "Zebrafieber"
QUESTION = {
    "question": "A 30-year-old woman comes to the physician because of thirst for 3 weeks. Her mother had gout. "
    "Her serum sodium is 150 mEq/L. Which of the following is the most likely diagnosis?",
    "answer": ANSWER,
    "options": {"A": WRONG, "B": ANSWER},
}


def spec(server: FakeServer) -> dict[str, str]:
    return {"default": f"openai:fake-model@{server.base_url}"}


@pytest.fixture
def note(tmp_path: Path) -> Any:
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps(QUESTION) + "\n", "utf-8")
    return read_notes(file)[0]


@pytest.mark.parametrize("way", ["clini_recon", "direct", "interactive"])
def test_no_request_of_a_reconstruction_or_of_the_papers_judges_holds_the_answer_or_a_wrong_option(
    note: Any, way: str
) -> None:
    with FakeServer() as server:
        settings = {"models": spec(server), "reconstruction": way, "max_turns": 2, "whole_dialogue": True}
        dialogue = GRAPHS["reconstruction"].invoke({"note": note}, context=settings)["dialogue"]
        answers = ReconstructionAnswers(reconstructed=dialogue)
        anyio.run(SUITES["clini_eval_paper"].score, builtin("surgery-01"), answers, ModelSettings(models=spec(server)))
        bodies = [request.text for request in server.requests]
    assert any("thirst for 3 weeks" in body for body in bodies)
    assert not any(hidden in body for body in bodies for hidden in (ANSWER, WRONG))
    assert dialogue.diseases == [ANSWER], "it is filed beside the dialogue all the same"


def test_a_disease_that_the_writer_came_to_is_not_filed_as_one_of_an_answer_key() -> None:
    text = "Diagnosis: His abdominal exam was normal. Gout."
    dialogue = GRAPHS["reconstruction"].invoke({"note": {"id": "n", "text": text}})["dialogue"]
    assert (dialogue.diseases, dialogue.inferred) == ([], "Gout")


def test_by_our_own_settings_who_writes_and_who_judges_are_told(note: Any) -> None:
    with FakeServer() as server:
        settings = {"models": spec(server), "reconstruction": "direct", "answer_key": "told"}
        GRAPHS["reconstruction"].invoke({"note": note}, context=settings)
        assert ANSWER in server.requests[0].text and WRONG not in server.requests[0].text
        settings = {"models": spec(server), "reconstruction": "direct"}
        dialogue = GRAPHS["reconstruction"].invoke({"note": note}, context=settings)["dialogue"]
        server.requests = []
        answers = ReconstructionAnswers(reconstructed=dialogue)
        anyio.run(SUITES["clini_eval"].score, builtin("surgery-01"), answers, ModelSettings(models=spec(server)))
        assert ANSWER in server.requests[0].text


def test_offline_nobody_knows_the_answer_either(note: Any) -> None:
    dialogue = GRAPHS["reconstruction"].invoke({"note": note})["dialogue"]
    assert not any(ANSWER in message.content for message in dialogue.messages)


NAMES = ("DoctorTurn", "FinalReport")
KNOWN = ("nothing", "complaint")


@pytest.mark.parametrize(
    ("system", "knows", "told"),
    [
        ("clinichat", None, False),  # as the paper has it, and Table 4's file, without a word
        *(
            (system, knows, knows == "complaint")
            for system in ("clinichat", "saps", "medpmc", "ai_hospital")
            for knows in KNOWN
        ),
    ],
)
def test_neither_the_first_request_of_the_interviewing_doctor_nor_the_report_holds_a_fact_of_the_patient(
    system: str, knows: str | None, told: bool
) -> None:
    case = builtin("surgery-01")
    patient = case.patient.model_copy(update={"chief_complaint": "Qualmschmerz", "occupation": "ropedancer"})

    def answer(request: ChatRequest) -> Any:
        return {"text": "Goodbye.", "finished": True} if request.name == "DoctorTurn" else None

    with FakeServer(answer=answer) as server:
        settings = {"patient": system, "retrieval": False, "models": spec(server)}
        settings |= {"doctor_knows": knows} if knows else {}
        GRAPHS["consultation"].invoke({"case": case.model_copy(update={"patient": patient})}, context=settings)
        asked = {name: next(request.text for request in server.requests if request.name == name) for name in NAMES}
    facts = ["ropedancer", f"{patient.age_years:g} years", f", {patient.sex}"]
    facts += ["Qualmschmerz"] if system == "clinichat" else []  # the others have told the complaint by then
    for text in asked.values():
        assert [fact in text for fact in facts] == [told] * len(facts)
        assert not any(disease in text for disease in case.key.diagnosis)
        assert text.count("Qualmschmerz") <= 1, "what was said stands in the dialogue alone"


@pytest.mark.parametrize("system", ["ai_hospital", "clinichat"])  # who opens, and who does not
@pytest.mark.parametrize("knows", KNOWN)
def test_director_and_interns_know_no_more_of_the_patient_than_a_doctor_who_knows_only_the_dialogue(
    system: str, knows: str
) -> None:
    case = builtin("surgery-01")
    patient = case.patient.model_copy(update={"chief_complaint": "Qualmschmerz", "occupation": "ropedancer"})
    spoken = {
        "DoctorTurn": {"text": "Goodbye.", "finished": True},
        "Agreement": {"agreed": True},
        "ReportDisputes": {"disputes": []},
    }
    with FakeServer(answer=lambda request: spoken.get(request.name)) as server:
        settings = {"patient": system, "models": spec(server), "doctor_knows": knows, "max_turns": 2, "max_rounds": 1}
        GRAPHS["dispute_resolution"].invoke({"case": case.model_copy(update={"patient": patient})}, context=settings)
        asked = {request.name: request.text for request in server.requests}
    facts = ["ropedancer", f"{patient.age_years:g} years", f", {patient.sex}", "Qualmschmerz"]
    for name in ("FinalReport", "MergedFacts", "Facts", "ReportDisputes"):
        assert [fact in asked[name] for fact in facts] == [knows == "complaint"] * len(facts), name
        assert '<data name="the case">\n\n' not in asked[name]


def test_a_department_of_its_own_stays_with_the_note_and_a_model_files_under_the_list_that_is_set(note: Any) -> None:
    own = note.model_copy(update={"department": "Endocrinology"})
    assert GRAPHS["reconstruction"].invoke({"note": own})["dialogue"].department == "Endocrinology"
    for departments, name in (("clinichat", "Cardiology"), ("medchain", "Internal Medicine")):
        with FakeServer() as server:
            settings = {"models": spec(server), "departments": departments, "whole_dialogue": True}
            GRAPHS["reconstruction"].invoke({"note": note}, context=settings)
            asked = json.dumps(next(r.schema for r in server.requests if "Knowledge" in r.name))
        assert name in asked and (CLINICHAT_DEPARTMENTS.names[2] in asked) == (departments == "clinichat")
