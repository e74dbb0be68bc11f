"""The offline judges put answers in the order in which a person would: the same said in other words above half of it.

Copied, paraphrased, partial, fluent but wrong, denied, another patient's, one answer to all, nonsense, the question
asked back, and none. Clini-Eval has
its findings from the doctor, the simulator's judges their facts and results, Med-PMC its report.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest

from cases.dialogues import PHYSICIAN, Dialogue, Message
from cases.text.sentences import sentences
from prompts import load_words
from scoring.aie.pairwise import Consultation, PairView, doctor_rule, patient_rule
from scoring.aie.transcripts import AieTurn
from scoring.clini_eval.rules import count_points
from scoring.medpmc.judges import judge_consultation_offline, judge_patient_offline, judge_persona_offline, view
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.claims import entailed
from scoring.metrics.stated_share import mostly_stated
from scoring.mvme.judges import GradingView, ReportParts, director
from scoring.mvme.reply_judges import judge_consistency_offline, judge_examination_offline, judge_relevance_offline

Answer = dict[str, str]
FIELDS = ("told", "found", "diagnosis", "treatment")
WRONG = ("wrong", "negated", "shuffled", "constant", "nonsense", "question")
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
NONSENSE = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Sed do eiusmod tempor incididunt ut labore."
QUESTIONS: dict[str, tuple[str, ...]] = {
    "en": ("What is the trouble?", "What does the examination show?", "What is the diagnosis?", "How is it treated?"),
    "zh": ("哪里不舒服？", "检查结果怎样？", "诊断是什么？", "怎么治疗？"),
}
NOTE = {
    "en": "Chief complaint: pain.\nPhysical examination and tests:\n{}",
    "zh": "主诉：疼痛。\n体格检查和辅助检查：\n{}",
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
        "negated": {**case["negated"]},
        "shuffled": {field: other[field] for field in FIELDS},
        "constant": dict(zip(FIELDS, CONSTANT[case["language"]], strict=True)),
        "nonsense": dict.fromkeys(FIELDS, NONSENSE),
        "question": dict(zip(FIELDS, QUESTIONS[case["language"]], strict=True)),
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
    return mean((mostly_stated if case["language"] == "zh" else entailed)(sentences(case["found"]), answer["found"]))


DECLINED = {
    "en": (
        "I will not ask what brought you here or how long it has lasted, okay?",
        "There is no need to say where it hurts or how bad it is, is there?",
        "We can skip your past illnesses, operations, medicines and allergies, can't we?",
        "Let us not talk about smoking, alcohol, your family or your work, shall we?",
    ),
    "zh": (
        "我不问您哪里不舒服、多久了，可以吗？",
        "疼的部位和程度不必讲了，好吗？",
        "以前的病、手术、用药和过敏就不用说了吧？",
        "抽烟喝酒、家里人和工作我们就不谈了，行吗？",
    ),
}


def interview(kind: str, case: dict[str, Any], answer: Answer) -> float:
    """All that Clini-Eval counts: whoever knows all asks for all, whoever knows a part for half of it, others once."""
    language = case["language"]
    stock, other = (
        load_words(name, language)[who]["questions"]
        for name, who in (("medchain/words", "doctor"), ("clini_eval/words", "physician"))
    )
    asked = {
        "copied": stock,
        "paraphrase": other,
        "partial": stock[: len(stock) // 2],
        "negated": DECLINED[language],
    }.get(kind, stock[:1])
    messages = [Message(role=PHYSICIAN, content=words) for words in (*asked, answer["found"])]
    note = NOTE[language].format(case["found"])
    return sum(count_points(Dialogue(id="1", messages=messages, note=note, language=language)).counted.values())


def played(case: dict[str, Any], expected: list[str], action: str, reply: str, results: list[str] | None = None) -> Any:
    item = SimpleNamespace(expected=expected, action=action)
    record = f"{case['told']}\n{case['found']}"
    return SimpleNamespace(
        played=SimpleNamespace(item=item),
        **{"question": "?", "reply": reply, "record": record, "results": results, "language": case["language"]},
    )


def accuracy(case: dict[str, Any], answer: Answer) -> float:
    """Of an examiner, order by order."""
    orders = [played(case, [fact], "Effective Advice", answer["found"], [fact]) for fact in sentences(case["found"])]
    return mean(judge_examination_offline(each).accurate for each in orders)


def consistency(case: dict[str, Any], answer: Answer) -> float:
    said = sentences(f"{answer['told']}\n{answer['found']}") or [""]
    return mean(judge_consistency_offline(played(case, [], "Effective Inquiry", each)).consistent for each in said)


def relevance(case: dict[str, Any], answer: Answer) -> float:
    told = sentences(case["told"])
    seen = [played(case, [fact], "Effective Inquiry", answer["told"]) for fact in told]
    return mean(judge_relevance_offline(each).relevant for each in seen)


def director_of_parts(case: dict[str, Any], answer: Answer) -> float:
    """Of AI Hospital: A to D as 4 to 1, without the diagnosis, which has no part."""
    told, expected = (
        ReportParts(symptoms=each["told"], examinations=each["found"], treatment=each["treatment"])
        for each in (answer, case)
    )
    graded = director.offline(GradingView(told, expected, ("symptoms", "examinations", "treatment")))
    return mean("DCBA".index(option) + 1 for option in graded.options.values() if option)


JUDGES = (director_of_parts, consultation_judge, completeness, kept_meaning, findings_that_came_up, relevance, accuracy)


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
    others = max(given[kind] for kind in WRONG)
    assert given["paraphrase"] > given["partial"] > others


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["development", "check"])
def test_a_whole_interview_has_more_points_the_more_of_it_is_asked_and_told(part: str, language: str) -> None:
    group = [case for case in CASES if (case["part"], case["language"]) == (part, language)]
    for place, case in enumerate(group):
        given = {kind: interview(kind, case, each) for kind, each in answers(case, group[place - 1]).items()}
        others = max(given[kind] for kind in (*WRONG, "empty"))
        assert min(given["copied"], given["paraphrase"]) > given["partial"] > others, given


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_examiner_who_tells_another_result_too_is_not_accurate(language: str) -> None:
    case, other = (case for case in CASES if (case["part"], case["language"]) == ("development", language))
    both = f"{case['found']} {other['found']}"
    facts = sentences(case["found"])
    assert not judge_examination_offline(played(case, facts, "Effective Advice", both, sentences(both))).accurate
    assert judge_examination_offline(played(case, facts, "Effective Advice", case["found"], sentences(both))).accurate


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["development", "check"])
def test_what_is_on_record_is_consistent_in_other_words_and_in_part_more_than_what_is_not(
    part: str, language: str
) -> None:
    given = means(consistency, part, language)
    assert given["copied"] == given["partial"] == given["empty"] == 1
    assert given["paraphrase"] > max(given[kind] for kind in ("wrong", "negated", "shuffled", "constant"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["development", "check"])
def test_the_better_consultation_is_preferred_as_a_doctor_sees_it(part: str, language: str) -> None:
    group = [case for case in CASES if (case["part"], case["language"]) == (part, language)]
    for place, case in enumerate(group):
        given = {kind: consultation(case, each) for kind, each in answers(case, group[place - 1]).items()}

        def total(one: str, other: str, case: Any = case, given: Any = given) -> str:
            record = case["told"] + "\n" + case["found"]
            return str(doctor_rule(PairView(record, case["diagnosis"], given[one], given[other])).total)

        for better in ("copied", "paraphrase"):
            assert {total(better, worse) for worse in (*WRONG, "empty")} == {"first"}, case
        assert total("copied", "paraphrase") == total("copied", "partial") == "first"
        if part == "development":
            assert total("paraphrase", "partial") != "second"
        asked = patient_rule(PairView("", "", given["partial"], given["empty"]))
        assert asked.total == "first", "who is told nothing prefers nobody who says nothing"
