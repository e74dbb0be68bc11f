"""Answers that never saw the patient, and those of the key itself."""

import asyncio
from statistics import mean

import pytest

from cases import AnswerKey, Case, load_cases
from llm import ModelSettings
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from scoring.floors import Floor, answers_of_floors, dialogues_of_floors, usual
from scoring.suite import SUITES

CASES = load_cases(split="test")[:6]
TRAIN = load_cases(split="train")[:30]


def scored(suite: str, name: Floor) -> dict[str, float]:
    async def every() -> list[dict[str, float | None]]:
        answers = answers_of_floors(CASES, TRAIN, SUITES[suite])[name]
        found = [
            await SUITES[suite].score(case, one, ModelSettings()) for case, one in zip(CASES, answers, strict=True)
        ]
        return [dict(one.values) for one in found]

    rows = asyncio.run(every())
    columns = {score: [value for row in rows if (value := row[score]) is not None] for score in rows[0]}
    return {score: mean(values) for score, values in columns.items() if values}


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "best"), [("medchain", 1.0), ("mvme", 4.0)])
def test_the_oracle_has_the_best_score_of_every_column_and_the_others_do_not(suite: str, best: float) -> None:
    assert set(scored(suite, "oracle").values()) == {best}
    for name in ("constant", "shuffled keys"):
        assert all(value < best for value in scored(suite, name).values())


def keyed(case: Case, **key: object) -> Case:
    return case.model_copy(update={"key": AnswerKey.model_validate(key)})


def test_the_oracle_has_the_other_parts_of_a_report_where_the_key_names_no_diagnosis() -> None:
    case = keyed(CASES[0], diagnosis_basis="Murphy sign positive.", treatment_course="Cholecystectomy.")
    [answers] = answers_of_floors([case], [], SUITES["mvme"])["oracle"]
    values = asyncio.run(SUITES["mvme"].score(case, answers, ModelSettings())).values
    assert values == {**dict.fromkeys(("symptoms", "examinations", "basis", "treatment"), 4.0), "diagnosis": None}


def test_the_constant_answer_orders_as_much_as_pays_and_no_more() -> None:
    wanted = [["Blood Test"], ["Blood Test", "Urine Test"], ["Blood Test"], ["Blood Test", "X-ray"]]
    train = [keyed(CASES[0], examination_items=items, diagnosis=["Flu", "Otitis"]) for items in wanted]
    key, _ = usual(train)
    assert (key.examination_items, key.diagnosis) == (["Blood Test"], ["Flu"])


def test_nobody_has_their_own_key_when_keys_are_shuffled() -> None:
    cases = [keyed(case, diagnosis=[case.id]) for case in CASES]
    answers = answers_of_floors(cases, [], SUITES["medchain"])["shuffled keys"]
    given = [answer.diagnosis[0] for answer in answers]
    assert sorted(given) == sorted(case.id for case in cases)
    assert all(name != case.id for name, case in zip(given, cases, strict=True))


def test_keys_are_exchanged_within_a_language_unless_a_case_is_alone_in_its_own() -> None:
    chinese = [case for case in load_cases(split="train") if case.language == "zh"][:3]
    english = [case for case in TRAIN if case.language == "en"][:3]
    for cases in ([*english, *chinese], [*english, *chinese[:1]]):
        own = [keyed(case, diagnosis=[case.id]) for case in cases]
        given = [one.diagnosis[0] for one in answers_of_floors(own, [], SUITES["medchain"])["shuffled keys"]]
        assert sorted(given) == sorted(case.id for case in cases)
        assert all(name != case.id for name, case in zip(given, cases, strict=True))
        ids = {case.id for case in english}
        alike = [(name in ids) == (case.id in ids) for name, case in zip(given, cases, strict=True)]
        assert all(alike) is (len(cases) == 6)


def test_without_train_cases_there_is_no_constant_answer_and_of_dialogues_there_is_none_at_all() -> None:
    assert list(answers_of_floors(CASES, [], SUITES["medchain"])) == ["shuffled keys", "oracle"]
    assert answers_of_floors(CASES, TRAIN, SUITES["aie"]) == {}


def silent(case: Case) -> ConsultationAnswers:
    asked = Turn(speaker="doctor", text="What brings you here?", action="Effective Inquiry")
    told, left = Turn(speaker="patient", text=f"I am {case.id}."), Turn(speaker="doctor", text="Goodbye.")
    return ConsultationAnswers(dialogue=[asked, told, left])


def test_of_a_dialogue_the_floor_is_one_about_somebody_else_and_the_ceiling_one_that_tells_the_whole_record() -> None:
    floors = dialogues_of_floors(CASES, [silent(case) for case in CASES])
    said = {name: [one.dialogue[1].text for one in given] for name, given in floors.items()}
    assert all(case.id not in text for case, text in zip(CASES, said["shuffled dialogues"], strict=True))
    assert sorted(said["shuffled dialogues"]) == sorted(f"I am {case.id}." for case in CASES)
    for language in {case.language for case in CASES}:
        own = [
            (case, told)
            for case, told in zip(CASES, said["constant dialogue"], strict=True)
            if case.language == language
        ]
        assert all(case.id not in told for case, told in own), "nor is anybody's own the constant one"
        assert len({told for _, told in own[1:]}) == 1
    score = SUITES["aie"].score
    for case, told in zip(CASES, floors["record told"], strict=True):
        assert asyncio.run(score(case, told, ModelSettings())).values["COVERAGE"] == 100.0
        assert told.report is not None and told.report.diagnosis == case.key.diagnosis


def test_a_dialogue_stays_in_its_language_and_one_case_alone_has_a_ceiling_only() -> None:
    cases = [*(case for case in load_cases() if case.language == "en")][:3]
    cases += [*(case for case in load_cases() if case.language == "zh")][:3]
    shuffled = dialogues_of_floors(cases, [silent(case) for case in cases])["shuffled dialogues"]
    english = {f"I am {case.id}." for case in cases[:3]}
    assert [one.dialogue[1].text in english for one in shuffled] == [True] * 3 + [False] * 3
    assert list(dialogues_of_floors(CASES[:1], [silent(CASES[0])])) == ["record told"]


def test_who_is_told_the_whole_record_and_shown_all_pictures_has_all_of_med_pmcs_recalls() -> None:
    cases = [case for case in load_cases() if case.examinations.images and case.key.treatment_course][:4]
    told = dialogues_of_floors(cases, [silent(case) for case in cases])["record told"]
    for case, one in zip(cases, told, strict=True):
        values = asyncio.run(SUITES["medpmc"].score(case, one, ModelSettings())).values
        assert [values[name] for name in ("Inquiry", "Examination", "MMA", "Diagnosis", "Treatment")] == [100.0] * 5
