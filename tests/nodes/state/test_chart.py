import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, get_args, get_type_hints

import pytest

import nodes
from cases import AnswerKey, Case, ExaminationRecord, PatientRecord
from cases.vocabulary import Language
from graphs import clinical_workflow
from graphs.clinical_workflow import build_clinical_workflow
from nodes.node import Node
from nodes.patients.systems import PATIENTS
from nodes.state.chart import (
    TALKING,
    Chart,
    Findings,
    Picture,
    Presentation,
    Reference,
    Turn,
    of_the_dialogue,
    repeating,
)
from nodes.state.decisions import Diagnosis, Referral, Triage
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.stages import STAGES, read_chart

FOUND = Findings(
    case_id="found",
    presentation=Presentation(language="en", chief_complaint="Found complaint.", present_illness="Found course."),
    symptoms="found symptoms",
    triage=Triage(urgency="urgent", department="Surgery"),
    referral=Referral(urgency="urgent", department="Surgery", sub_departments=["Found unit"]),
    dialogue=[Turn(speaker="doctor", text="Found question?"), Turn(speaker="patient", text="Found reply.")],
    results={"Blood Test": "Found result."},
    pictures=[Picture(item="CT", file="/found.png")],
    reports={"CT": "Found report."},
    diagnosis=Diagnosis(names=["Found disease"], basis="Found basis."),
    backtracks=0,
)
EXPECTED = Reference(
    triage=Triage(urgency="emergency", department="Oncology"),
    referral=Referral(urgency="emergency", department="Oncology", sub_departments=["Expected unit"]),
    results={"Urine Test": "Expected result."},
    pictures=[Picture(item="MRI", file="/expected.png")],
    reports={"MRI": "Expected report."},
    diagnosis=Diagnosis(names=["Expected disease"], basis="Expected basis."),
)
# What each stage may build on: all that was decided before it, and nothing else.
DECIDED: dict[str, tuple[str, ...]] = {
    "referral.level1": (),
    "referral.level2": ("triage",),
    "history_taking.physical": ("triage", "referral"),
    "history_taking.auxiliary": ("triage", "referral"),
    "examination": ("triage", "referral", "results", "pictures"),
    "diagnosis": ("triage", "referral", "results", "pictures", "reports"),
    "treatment": ("triage", "referral", "results", "pictures", "reports", "diagnosis"),
}
WORDS_OF = {
    "triage": ["Surgery"],
    "referral": ["Found unit"],
    "results": ["Found result."],
    "pictures": ["Pictures on file"],
    "reports": ["Found report."],
    "diagnosis": ["Found disease", "Found basis."],
}
EACH_STAGE = pytest.mark.parametrize("stage", DECIDED)


def decided(chart: Chart) -> dict[str, Any]:
    fields = ("triage", "referral", "results", "pictures", "reports", "diagnosis")
    return {name: getattr(chart, name) for name in fields if getattr(chart, name)}


def test_the_seven_decisions_of_the_workflow_are_the_ones_examined_here() -> None:
    assert list(STAGES) == list(DECIDED)


@EACH_STAGE
def test_a_stage_sees_what_was_decided_before_it_and_nothing_decided_by_itself_or_later(stage: str) -> None:
    assert decided(read_chart(FOUND, stage, None)) == {name: dict(FOUND)[name] for name in DECIDED[stage]}


@EACH_STAGE
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_words_of_a_chart_hold_what_the_stage_may_see_and_nothing_else(stage: str, language: Language) -> None:
    text = str(read_chart(FOUND, stage, language))
    surgery = {"en": "Surgery", "zh": "外科"}[language]
    for name, words in WORDS_OF.items():
        for word in words:
            if name in ("triage", "pictures"):
                continue
            assert (word in text) == (name in DECIDED[stage]), name
    assert (surgery in text) == ("triage" in DECIDED[stage])
    assert "Found complaint." in text and "Found reply." in text
    assert "/found.png" not in text, "a file's name may tell what it shows"


@EACH_STAGE
def test_with_a_reference_a_stage_sees_it_in_place_of_all_that_earlier_stages_found(stage: str) -> None:
    findings: Any = {**FOUND, "reference": EXPECTED}
    chart = read_chart(findings, stage, None)
    assert decided(chart) == {name: getattr(EXPECTED, name) for name in DECIDED[stage]}
    assert chart.presentation == FOUND["presentation"]
    assert chart.dialogue == FOUND["dialogue"], "the dialogue is the doctor's own, not a reference"


@pytest.mark.parametrize(("language", "line"), [("en", "Diagnosis: Gout; Asthma."), ("zh", "诊断：Gout；Asthma。")])
def test_no_full_stop_stands_between_two_diagnoses(language: Language, line: str) -> None:
    stop = line[-1]
    found: Findings = {**FOUND, "diagnosis": Diagnosis(names=[f"Gout{stop}", f"Asthma{stop}"], basis="Found basis.")}
    assert line in str(read_chart(found, "treatment", language)).splitlines()


@EACH_STAGE
@pytest.mark.parametrize("only", ["triage", "referral", "results", "pictures", "reports", "diagnosis"])
def test_with_a_reference_nothing_that_the_doctors_decided_reaches_a_later_stage(stage: str, only: str) -> None:
    own = {"referral.level1": {"text": "Found."}}  # as a stage does that has no field of its own
    findings: Any = {**FOUND, "decided": own, "reference": Reference.model_validate({only: getattr(EXPECTED, only)})}
    chart = read_chart(findings, stage, None)
    assert decided(chart) == {name: getattr(EXPECTED, name) for name in DECIDED[stage] if name == only}
    assert chart.decided == {}


def test_a_chart_is_written_in_the_language_of_the_case_unless_another_is_named() -> None:
    assert read_chart(FOUND, "diagnosis", None).language == "en"
    assert read_chart(FOUND, "diagnosis", "zh").language == "zh"


def test_the_patients_words_are_those_of_the_patient_and_not_of_the_doctor() -> None:
    words = read_chart(FOUND, "diagnosis", None).patients_words
    assert "Found reply." in words and "Found complaint." in words and "Found question?" not in words


def test_the_patients_words_are_sentences_also_where_a_record_has_no_full_stops() -> None:
    entry = Presentation(language="en", chief_complaint="Double vision")
    turns = [Turn(speaker="patient", text=text) for text in ("For a month", "It is worse at night.")]
    chart = read_chart({**FOUND, "presentation": entry, "dialogue": turns}, "diagnosis", None)
    assert chart.patients_words == "Double vision. For a month. It is worse at night."


# The structural side of the leak test: what a node's view does not declare, LangGraph does not hand to it.

SECRETS = (Case, PatientRecord, ExaminationRecord, AnswerKey)
RECORDS = {"patient_record", "examination_record"}
# Who is not a doctor, by module, and the secrets that they may see; nobody but who admits sees a whole case.
MAY_SEE: dict[str, set[str]] = {
    "workflow.admission": {"case", *RECORDS},
    "patients.medchain": {"patient_record"},
    "patients.ai_hospital.profile": {"patient_record"},
    "patients.ai_hospital.patient": {"patient_record"},
    "reconstruction.filing": {"case"},  # writes the case's note; nobody of a reconstruction sees the case itself
    "workflow.examiner": {"examination_record"},
    "patients.ai_hospital.examiner": {"examination_record"},
    "patients.medpmc.technician": {"examination_record"},
    "patients.saps.memory_bank": RECORDS,
    "patients.clinichat": RECORDS,  # CliniChat: the patient brings the clinical note, results included
    "patients.saps.state_tracker": RECORDS,  # AIE: one person answers for the patient and for the examinations
}


@cache
def workflow(strategy: str) -> Any:
    return build_clinical_workflow(strategy).compile(name=strategy)


@cache
def cast() -> dict[str, Node]:
    """Every node of the cast, by module and name."""
    found = {}
    for module in pkgutil.walk_packages(nodes.__path__, "nodes."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Node) and value.function.__module__ == module.name:
                found[f"{module.name.removeprefix('nodes.')}.{value.name}"] = value
    return found


def view_of(node: Node) -> type:
    first = next(iter(inspect.signature(node.function).parameters))
    view: type = get_type_hints(node.function)[first]
    return view


def types_in(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from types_in(inner)


def secret_keys(view: type) -> set[str]:
    return {name for name, hint in get_type_hints(view).items() if set(SECRETS) & set(types_in(hint))}


def test_who_knows_the_dialogue_alone_knows_the_complaint_as_it_was_told_there_and_no_age_sex_or_course() -> None:
    whole = Presentation(
        language="zh", age_years=40, sex="male", occupation="Baker", chief_complaint="C", present_illness="P"
    )
    chart = replace(read_chart(FOUND, "diagnosis", None), presentation=whole)
    assert of_the_dialogue(chart).presentation == Presentation(language="zh", chief_complaint="Found reply.")
    assert of_the_dialogue(replace(chart, dialogue=[])).presentation == Presentation(language="zh", chief_complaint="")


def test_every_person_of_the_clinical_workflow_is_examined() -> None:
    assert set(cast()) >= {
        "workflow.stage_control.conclude",
        "workflow.stage_control.record_round",
        "workflow.stage_control.close_round",
        "consultation.doctor.question",
        "workflow.examiner.examine",
        "workflow.order_extraction.extract_orders",
        "workflow.feedback_agent.judge",
        "workflow.general_agent.discuss",
        "workflow.case_retrieval.recall",
        "workflow.case_retrieval.refine",
        "patients.medchain.answer",
        "workflow.admission.admit",
        "workflow.follow_up.follow_up",
        "workflow.reviewer.review",
        "workflow.summarizing_agent.decide",
    }


@pytest.mark.parametrize("name", sorted(cast()))
def test_a_view_holds_no_record_case_or_answer_key_but_those_that_its_owner_may_see(name: str) -> None:
    assert secret_keys(view_of(cast()[name])) <= MAY_SEE.get(name.rpartition(".")[0], set())


def test_those_who_need_a_record_have_it_in_their_view() -> None:
    needed = {
        name: secret_keys(view_of(cast()[name])) for name in ("workflow.admission.admit", "patients.medchain.answer")
    }
    assert needed == {"workflow.admission.admit": {"case"}, "patients.medchain.answer": {"patient_record"}}
    assert secret_keys(view_of(cast()["workflow.examiner.examine"])) == {"examination_record"}


def graphs_of(whole: str) -> dict[str, Any]:
    """The graphs of the workflow of a strategy, of a patient system, or of the workflow as it is imported."""
    if whole in PATIENTS:
        return {whole: PATIENTS[whole].graph}
    if whole in STRATEGIES:
        return dict(workflow(whole).get_subgraphs(recurse=True))
    return {whole: clinical_workflow}


@pytest.mark.parametrize("whole", ["clinical_workflow", *STRATEGIES, *PATIENTS])
def test_langgraph_hands_each_node_the_view_that_it_declares_and_no_more(whole: str) -> None:
    found = {
        f"{name}: {node}": specification
        for name, graph in graphs_of(whole).items()
        for node, specification in graph.builder.nodes.items()
        if isinstance(specification.runnable, Node)
    }
    assert found
    assert [place for place, node in found.items() if node.input_schema is not view_of(node.runnable)] == []


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("stage", ["referral", "examination", "diagnosis", "treatment"])
def test_the_graph_of_a_stage_of_doctors_takes_in_no_record_case_or_answer_key(stage: str, strategy: str) -> None:
    graph: Any = dict(workflow(strategy).get_subgraphs())[stage]
    inner = [graph, *dict(graph.get_subgraphs(recurse=True)).values()]
    for each in inner:
        assert not secret_keys(each.builder.state_schema)


@pytest.mark.parametrize(
    ("doctor", "patient", "who"),
    [
        (["Where is it?", "Since when?", "Since when?", "Since when?"], ["In my chest."] * 4, ["doctor"]),
        (["Since when?", "Since when?", "Since when?", "Where is it?"], ["a", "b", "c", "d"], []),
        (["Since when?", "Since when?"], ["Yes."] * 2, []),
        (["a?", "b?", "c?"], ["I have had this cough for three weeks now, doctor."] * 3, ["patient"]),
        (["a?", "b?", "c?"], ["No."] * 3, []),
        (["什么时候开始的？"] * 3, ["好"] * 3, ["doctor"]),
        ([], [], []),
    ],
)
def test_who_says_one_thing_three_times_in_a_row_at_last_repeats_himself(
    doctor: list[str], patient: list[str], who: list[str]
) -> None:
    pairs = zip(doctor, patient, strict=True)
    turns = [Turn(speaker=speaker, text=text) for pair in pairs for speaker, text in zip(TALKING, pair, strict=True)]
    assert repeating(turns) == who
