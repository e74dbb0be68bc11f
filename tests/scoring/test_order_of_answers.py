"""The offline judges put answers in the order in which a person would: the same said in other words above half of it.

Copied, paraphrased, partial, fluent but wrong, another patient's, one answer to all, and none. Clini-Eval has its
findings from the dialogue, the simulator's judge its facts, Med-PMC its report.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest

from cases.text.sentences import sentences
from scoring.aie.pairwise_rules import Consultation, PairView, doctor_rule, patient_rule
from scoring.aie.transcripts import AieTurn
from scoring.clini_eval.rules import _tells
from scoring.medpmc.judges import judge_consultation_offline, judge_patient_offline, judge_persona_offline, view
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.mvme.reply_judges import judge_relevance_offline

Answer = dict[str, str]
FIELDS = ("told", "found", "diagnosis", "treatment")
CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("answers_labelled.toml").read_text("utf-8"))[
    "case"
]
CONSTANT: dict[str, tuple[str, ...]] = {
    "en": (
        "I have had fever for some days and feel unwell.",
        "The general examination is normal.",
        "Upper respiratory infection",
        "Rest, drink plenty and come back if it gets worse.",
    ),
    "zh": ("我这几天有点发热，不舒服。", "查体未见异常。", "上呼吸道感染", "多休息，多喝水，加重时复诊。"),
}
ASKS = {
    "en": ("What is the trouble?", "Is there anything else?", "Please have an examination."),
    "zh": ("哪里不舒服？", "还有别的吗？", "请做检查。"),
}


def answers(case: dict[str, Any], other: dict[str, Any]) -> dict[str, Answer]:
    """What is answered to a case, of each kind."""
    last = {field: sentences(case[field])[-1] for field in FIELDS}
    return {
        "copied": {field: case[field] for field in FIELDS},
        "paraphrase": {**case["paraphrase"]},
        "partial": {**last, "diagnosis": ""},
        "wrong": {**case["wrong"]},
        "shuffled": {field: other[field] for field in FIELDS},
        "constant": dict(zip(FIELDS, CONSTANT[case["language"]], strict=True)),
        "empty": dict.fromkeys(FIELDS, ""),
    }


def transcript(case: dict[str, Any], answer: Answer, **meant: str) -> MedPmcTranscript:
    sections = dict.fromkeys(("Patient Information", "Chief Complaint", "Past Medical History"), "")
    text = {**sections, "Present Illness": case["told"], "Examinations": case["found"]}
    text |= {"Diagnosis": case["diagnosis"], "Treatment": case["treatment"]}
    turn = {"doctor": "?", "state": "A-A-A", "patient": answer["told"], **meant}
    report = "\n".join(filter(None, answer.values()))
    return MedPmcTranscript.model_validate({"id": "1", "Text": text, "history": [turn], "diagnosis_self": report})


def consultation(case: dict[str, Any], answer: Answer) -> Consultation:
    first, more, examine = ASKS[case["language"]]
    told = sentences(answer["told"])
    turns = [("O", first, told[0]), *(("A-A-A", more, each) for each in told[1:])] if told else []
    if told:
        turns += [("B-A-A", examine, answer["found"]), ("E", answer["diagnosis"] + " " + answer["treatment"], "")]
    history = [AieTurn.model_validate({"state": s, "doctor": d, **({"patient": p} if p else {})}) for s, d, p in turns]
    return Consultation("\n".join(d + p for _, d, p in turns), history, answer["diagnosis"])


def consultation_judge(case: dict[str, Any], answer: Answer) -> float:
    given = judge_consultation_offline(view(transcript(case, answer), case["language"]))
    return mean((given.inquiry, given.examination, given.diagnosis, given.treatment))


def completeness(case: dict[str, Any], answer: Answer) -> float:
    return judge_patient_offline(view(transcript(case, answer), case["language"])).completeness


def kept_meaning(case: dict[str, Any], answer: Answer) -> float:
    seen = view(transcript(case, answer, standard_patient=case["told"]), case["language"])
    return judge_persona_offline(seen).semantic_consistency


def findings_that_came_up(case: dict[str, Any], answer: Answer) -> float:
    return mean(_tells(answer["found"], finding) for finding in sentences(case["found"]))


def relevance(case: dict[str, Any], answer: Answer) -> float:
    def seen(fact: str) -> Any:
        item = SimpleNamespace(expected=[fact], action="Effective Inquiry")
        return SimpleNamespace(played=SimpleNamespace(item=item), reply=answer["told"], record=case["told"])

    return mean(judge_relevance_offline(seen(fact)).relevant for fact in sentences(case["told"]))


JUDGES = (consultation_judge, completeness, kept_meaning, findings_that_came_up, relevance)


def means(judge: Callable[[dict[str, Any], Answer], float], part: str, language: str) -> dict[str, float]:
    group = [case for case in CASES if (case["part"], case["language"]) == (part, language)]
    made = [(case, answers(case, group[place - 1])) for place, case in enumerate(group)]
    return {kind: mean(judge(case, given[kind]) for case, given in made) for kind in made[0][1]}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["development", "check"])
@pytest.mark.parametrize("judge", JUDGES)
def test_a_judge_by_rule_keeps_the_order_of_answers(judge: Any, part: str, language: str) -> None:
    given = means(judge, part, language)
    assert given["empty"] == min(given.values()) and given["copied"] == max(given.values())
    others = max(given[kind] for kind in ("wrong", "shuffled", "constant"))
    assert given["paraphrase"] > others
    if part == "development" or judge is not findings_that_came_up:  # which compares words, and misses paraphrases
        assert given["paraphrase"] > given["partial"] > others


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["development", "check"])
def test_the_better_consultation_is_preferred_as_a_doctor_sees_it(part: str, language: str) -> None:
    group = [case for case in CASES if (case["part"], case["language"]) == (part, language)]
    for place, case in enumerate(group):
        given = {kind: consultation(case, each) for kind, each in answers(case, group[place - 1]).items()}

        def total(one: str, other: str, case: Any = case, given: Any = given) -> str:
            record = case["told"] + "\n" + case["found"]
            return str(doctor_rule(PairView(record, case["diagnosis"], given[one], given[other]))["total"])

        for better in ("copied", "paraphrase"):
            assert {total(better, worse) for worse in ("wrong", "shuffled", "constant", "empty")} == {"first"}, case
        assert total("copied", "paraphrase") == total("copied", "partial") == "first"
        if part == "development":
            assert total("paraphrase", "partial") != "second"
        asked = patient_rule(PairView("", "", given["partial"], given["empty"]))
        assert asked["total"] == "first", "who is told nothing prefers nobody who says nothing"
