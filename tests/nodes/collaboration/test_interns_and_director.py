import dataclasses
from typing import Any

import pytest

from cases.vocabulary import Language
from llm import Role
from llm.role import known_roles, variables
from llm.specs import model_of
from nodes.collaboration.director import DirectorView, differences, most_held, no_difference
from nodes.collaboration.exchange_of_facts import FactsView, add_the_replies, merge_by_majority
from nodes.collaboration.intern import InternView, as_doctor, give_way
from nodes.collaboration.subject import REPORT, decision_on
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.offline.group_words import undetermined
from nodes.state.chart import Presentation
from nodes.state.collaboration import (
    Confirmation,
    Conflict,
    Dispute,
    Facts,
    Statement,
)
from nodes.state.stage import Options
from nodes.workflow.stages import STAGES, read_chart
from prompts import load_prompt, load_words

CHART = read_chart(
    {"presentation": Presentation(language="en", chief_complaint="Pain.")},
    "referral.level1",
    None,
)
NOTHING = Options((), "en")


def report(*diagnosis: str, treatment: str = "Rest", symptoms: str = "Pain.", examinations: str = "CT: clear.") -> Any:
    return FinalReport(
        symptoms=symptoms, examinations=examinations, diagnosis=list(diagnosis), basis="", treatment=treatment
    )


def statements(*reports: FinalReport) -> list[Statement]:
    return [Statement(round=0, seat=seat, report=each.model_dump()) for seat, each in enumerate(reports, start=1)]


def director(*reports: FinalReport) -> DirectorView:
    return DirectorView(REPORT, "", CHART, None, NOTHING, statements(*reports), [])


def intern(seat: int, *reports: FinalReport, disputed: tuple[str, ...] = ()) -> InternView:
    said = statements(*reports)
    disputes = [Dispute.model_validate({"part": part, "point": "?"}) for part in disputed]
    others = [statement for statement in said if statement.seat != seat]
    return InternView(REPORT, "", CHART, None, NOTHING, seat, [], said[seat - 1], others, disputes)


# The director's rules.


def test_the_director_finds_no_dispute_where_reports_hold_the_same_in_another_order_and_spelling() -> None:
    view = director(
        report("Asthma", "Gout", treatment="Rest, Medication"), report("gout", "ASTHMA.", treatment="medication; rest")
    )
    assert differences(view).disputes == [] and no_difference(view).agreed


def test_the_director_names_what_is_held_once_in_whatever_order() -> None:
    view = director(*(report("Gout", treatment=held) for held in ("Rest, Medication", "Medication, Rest", "Surgery")))
    (dispute,) = differences(view).disputes
    assert dispute.point == "Rest; Medication | Surgery"


def test_the_director_names_what_is_held_in_the_order_of_the_seats() -> None:
    view = director(*(report("Gout", treatment=held) for held in ("Rest, Medication", "Surgery", "Medication, Rest")))
    (dispute,) = differences(view).disputes
    assert dispute.point == "Rest; Medication | Surgery"


@pytest.mark.parametrize(
    ("one", "other", "agreed"),
    [
        ("Heart attack", "Myocardial infarction", True),
        ("心梗", "心肌梗死", True),
        ("COPD", "Chronic obstructive pulmonary disease", True),
        ("Heart attack", "Heart failure", False),
    ],
)
def test_names_of_one_disease_are_no_dispute(one: str, other: str, agreed: bool) -> None:
    assert no_difference(director(report(one), report(other))).agreed is agreed


def test_the_director_lists_at_most_three_disputes_the_diagnosis_first() -> None:
    view = director(
        report("Asthma"),
        report("Gout", treatment="Surgery", symptoms="No pain.", examinations="CT: a shadow."),
    )
    assert [dispute.part for dispute in differences(view).disputes] == ["diagnosis", "treatment", "examinations"]
    assert "Asthma" in differences(view).disputes[0].point and "Gout" in differences(view).disputes[0].point
    assert not no_difference(view).agreed


def test_what_the_exchange_of_facts_has_settled_is_no_dispute() -> None:
    view = director(report("Gout"), report("Gout", symptoms="No pain.", examinations="CT: a shadow."))
    assert [dispute.part for dispute in differences(view).disputes] == ["examinations", "symptoms"]
    settled = dataclasses.replace(view, facts=Facts(symptoms="Pain.", examinations="CT: a shadow."))
    assert differences(settled).disputes == [] and no_difference(settled).agreed


def test_the_final_report_holds_what_most_interns_hold() -> None:
    assert most_held(director(report("Asthma", "Gout"), report("Gout"), report("Gout", "Flu"))).diagnosis == ["Gout"]


def test_where_no_claim_has_a_majority_the_first_intern_is_followed() -> None:
    assert most_held(director(report("Asthma"), report("Gout"), report("Flu"))).diagnosis == ["Asthma"]


# The interns' rules.


def test_an_intern_takes_over_what_most_hold() -> None:
    view = intern(1, report("Flu"), report("Asthma"), report("Asthma"))
    assert give_way(view).report.diagnosis == ["Asthma"]


def in_round(number: int, view: InternView) -> InternView:
    assert view.own
    return dataclasses.replace(view, own=view.own.model_copy(update={"round": number - 1}))


@pytest.mark.parametrize(("number", "held"), [(1, ["Asthma"]), (2, ["Asthma", "Gout"]), (3, ["Asthma", "Gout"])])
def test_of_two_interns_each_gives_way_only_where_the_director_names_the_dispute_again(
    number: int, held: list[str]
) -> None:
    view = in_round(number, intern(1, report("Asthma"), report("Gout"), disputed=("diagnosis",)))
    assert give_way(view).report.diagnosis == held
    assert give_way(dataclasses.replace(view, disputes=[])).report.diagnosis == ["Asthma"]


@pytest.mark.parametrize(
    ("number", "held"),
    [
        (1, [["Asthma"], ["Gout"], ["Flu"]]),
        (2, [["Asthma"], ["Gout"], ["Flu"]]),
        (3, [["Asthma", "Gout", "Flu"]] * 3),
    ],
)
def test_three_views_without_a_majority_stand_beside_each_other_when_the_dispute_is_named_the_third_time(
    number: int, held: list[list[str]]
) -> None:
    reports = (report("Asthma"), report("Gout"), report("Flu"))
    views = [in_round(number, intern(seat, *reports, disputed=("diagnosis",))) for seat in (1, 2, 3)]
    assert [give_way(view).report.diagnosis for view in views] == held
    assert give_way(dataclasses.replace(views[0], disputes=[])).report.diagnosis == ["Asthma"]


def test_an_open_diagnosis_does_not_stand_beside_a_disease() -> None:
    views = (report("Asthma"), report("Gout"), report("Undetermined (the complaint: “Pain”)"))
    third = intern(1, *views, disputed=("diagnosis",))
    assert third.own is not None
    view = dataclasses.replace(third, own=third.own.model_copy(update={"round": 2}))
    assert give_way(view).report.diagnosis == ["Asthma", "Gout"]
    assert STAGES["diagnosis"].without_model(["Undetermined (the complaint: “Pain”)", "Gout"], CHART, ())["names"] == [
        "Gout"
    ]


def test_the_director_names_the_department_of_surgery_and_no_operation() -> None:
    triage, said = decision_on(STAGES["referral.level1"]), []
    for seat, department in enumerate(("Surgery", "Oncology"), start=1):
        said.append(Statement(round=0, seat=seat, report={"urgency": "routine", "department": department}))
    chart = dataclasses.replace(CHART, language="zh")
    assert differences(DirectorView(triage, "", chart, None, NOTHING, said, [])).disputes[0].point == "外科 | 肿瘤科"


def test_of_four_half_are_followed_when_the_dispute_is_named_again_and_most_at_once() -> None:
    two, three = (intern(4, *map(report, names), disputed=("diagnosis",)) for names in (("A", "A", "B", "C"), "AAAB"))
    assert [give_way(in_round(number, two)).report.diagnosis for number in (1, 2)] == [["C"], ["A"]]
    assert give_way(three).report.diagnosis == ["A"]


def test_of_three_the_one_whom_the_facts_bear_out_is_followed_only_where_the_dispute_is_named() -> None:
    facts = Facts(symptoms="Pain.", examinations="CT: no pneumothorax.")
    reports = [report("Pneumothorax"), report("Asthma"), report("Pneumothorax")]
    view = dataclasses.replace(intern(1, *reports, disputed=("diagnosis",)), facts=facts)
    assert give_way(view).report.diagnosis == ["Asthma"]
    assert give_way(dataclasses.replace(view, disputes=[])).report.diagnosis == ["Pneumothorax"]


def test_where_no_dispute_is_named_interns_settle_one_part_after_the_other() -> None:
    plans = ("Rest", "Surgery", "Surgery")
    reports = [report(name, treatment=plan) for name, plan in zip(("Gout", "Asthma", "Asthma"), plans, strict=True)]
    named = give_way(intern(1, *reports, disputed=("diagnosis", "treatment"))).report
    assert (named.diagnosis, named.treatment) == (["Asthma"], "Surgery")
    unnamed = give_way(intern(1, *reports)).report
    assert (unnamed.diagnosis, unnamed.treatment) == (["Asthma"], "Rest")
    assert give_way(intern(1, unnamed, *reports[1:])).report.treatment == "Surgery", "in the next round"


def test_where_no_dispute_is_named_a_part_without_a_majority_does_not_hold_up_the_others() -> None:
    plans = ("Rest", "Surgery", "Surgery")
    reports = [report(name, treatment=plan) for name, plan in zip(("Gout", "Asthma", "Angina"), plans, strict=True)]
    unnamed = give_way(intern(1, *reports)).report
    assert (unnamed.diagnosis, unnamed.treatment) == (["Gout"], "Surgery")


def test_a_disputed_diagnosis_is_held_against_the_agreed_facts() -> None:
    facts = Facts(symptoms="Pain.", examinations="CT: no pneumothorax.")
    reports = [report("Pneumothorax"), report("Asthma")]
    view = dataclasses.replace(intern(1, *reports, disputed=("diagnosis",)), facts=facts)
    assert give_way(view).report.diagnosis == ["Asthma"], "what they deny is let go"
    named = facts.model_copy(update={"examinations": "CT: consistent with pulmonary embolism."})
    assert give_way(dataclasses.replace(view, facts=named)).report.diagnosis == ["pulmonary embolism"]
    assert give_way(dataclasses.replace(view, disputes=[])).report.diagnosis == ["Pneumothorax"]


# The exchange of facts.


def facts_view(*reports: FinalReport) -> FactsView:
    return FactsView(CHART, statements(*reports), None, [])


def test_facts_of_most_interns_stand_and_those_of_fewer_are_asked_about_where_they_are_known() -> None:
    merged = merge_by_majority(
        facts_view(
            report("A", symptoms="Pain. Fever.", examinations="Blood Test: normal."),
            report("B", symptoms="Pain.", examinations="Blood Test: normal."),
            report("C", symptoms="Pain.", examinations="Blood Test: normal.\nCT: a shadow."),
        )
    )
    assert (merged.symptoms, merged.examinations) == ("Pain.", "Blood Test: normal.")
    assert [(conflict.ask, conflict.point) for conflict in merged.conflicts] == [
        ("examiner", "CT: a shadow."),
        ("patient", "Fever."),
    ]
    assert merged.conflicts[0].question == "CT", "the examiner goes by the name alone, and is told no result"


def test_the_examiner_is_asked_for_the_examination_and_not_for_what_its_result_sounds_like() -> None:
    heart = "Chest Examination: Regular heart rate, no murmurs."
    merged = merge_by_majority(
        facts_view(report("A", examinations=f"Blood Test: normal.\n{heart}"), report("B"), report("C"))
    )
    assert [conflict.question for conflict in merged.conflicts if conflict.point == heart] == ["Chest Examination"]


def test_equal_facts_are_no_conflict() -> None:
    assert merge_by_majority(facts_view(report("A"), report("B"))).conflicts == []


def test_the_replies_are_added_to_the_facts_that_they_belong_to() -> None:
    conflicts = [Conflict(point="p", ask=person, question="q") for person in ("patient", "examiner")]
    confirmations = [
        Confirmation(number=number, conflict=conflict, reply=f"from the {conflict.ask}")
        for number, conflict in enumerate(conflicts, start=1)
    ]
    draft = Facts(symptoms="Pain.", examinations="CT: clear.")
    facts = add_the_replies(dataclasses.replace(facts_view(), draft=draft, confirmations=confirmations))
    assert facts == Facts(symptoms="Pain. from the patient", examinations="CT: clear.\nfrom the examiner")


# Models by seat.


def test_the_model_of_a_seat_goes_before_that_of_the_role_and_a_place_before_the_role_itself() -> None:
    models = {"default": "d", "intern": "i", "intern2": "i2", "diagnosis.intern": "di"}
    assert model_of("intern", "dispute_resolution", models, 1) == "i"
    assert model_of("intern", "dispute_resolution", models, 2) == "i2"
    assert model_of("intern", "diagnosis", models, 1) == "di"
    assert model_of("intern", "diagnosis", models, 2) == "i2"
    assert model_of("intern", "diagnosis", {"default": "d"}, 2) == "d"


def test_five_seats_may_be_named_and_no_sixth() -> None:
    assert {f"intern{seat}" for seat in range(1, 6)} <= known_roles().keys()
    Context(models=dict.fromkeys([*(f"intern{seat}" for seat in range(1, 6)), "diagnosis.intern3"], "offline"))
    with pytest.raises(ValueError, match="unknown role 'intern6'"):
        Context(models={"intern6": "offline"})


def test_a_role_without_seats_has_no_numbers() -> None:
    Role("lonely", "nowhere", "judges/claims", Facts, offline=lambda view: Facts(symptoms="", examinations=""))
    assert "lonely" in known_roles() and "lonely1" not in known_roles()


def test_in_the_consultation_the_doctor_is_the_intern_unless_no_intern_is_named() -> None:
    named = as_doctor(Context(models={"intern2": "human", "doctor": "offline", "report.doctor": "offline"}), 2)
    assert named.models == {"intern2": "human", "doctor": "human"} and named.scope == "intern2"
    assert as_doctor(Context(models={"doctor": "human"}), 2).models == {"doctor": "human"}


@pytest.mark.parametrize(
    ("said", "between"),
    [(["Fever of 38.2 °C since May.", "She coughs – at night."], " "), (["咳嗽两周。", "体温38.2℃。"], "")],
)
def test_claims_are_put_together_in_the_way_of_their_language_whatever_signs_are_among_them(
    said: list[str], between: str
) -> None:
    symptoms = REPORT.claims["symptoms"]
    empty = FinalReport(symptoms="", examinations="", diagnosis=["Flu"], basis="", treatment="")
    merged = symptoms.set(empty, said)
    assert merged.symptoms == between.join(said) and symptoms.of(merged) == said


# What the doctors read of one another.


def test_a_report_is_read_in_the_words_of_the_case_and_not_as_json() -> None:
    """A Chinese discussion showed {"sub_departments": ["Wound and Ostomy Care"]} beside Chinese options."""
    units = Statement(
        round=0, seat=1, report={"sub_departments": ["Wound and Ostomy Care"]}, reasoning="伤口需要换药。"
    )
    subject = decision_on(STAGES["referral.level2"])
    view = InternView(
        subject, "", CHART, None, NOTHING, 2, [], units.model_copy(update={"seat": 2}), [units], [], [units]
    )
    seen = [load_prompt("collaboration/intern", "zh").render(variables(view))[1]]
    directed = variables(DirectorView(subject, "", CHART, None, NOTHING, [units], []))
    seen += [
        load_prompt(f"collaboration/{name}", "zh").render(directed)[1] for name in ("agreement", "conclude", "disputes")
    ]
    assert [text.count("\n伤口造口护理\n理由：伤口需要换药。\n") for text in seen] == [3, 1, 1, 1]
    assert not any("Ostomy" in text or "{" in text for text in seen)
    lines = statements(report("Gout", "Asthma"))[0].told("en").splitlines()
    assert lines[2:] == ["Diagnosis: Gout, Asthma", "Basis of the diagnosis: none", "Treatment: Rest"]


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ({"operable": False, "grade": 0}, "operable: false\ngrade: 0"),
        ({"why": "hernia", "deep": {"a": [1, "疝"]}}, 'why: "hernia"\ndeep: {"a": [1, "疝"]}'),
        ({"why": "hernia", "steps": ["a", "b"]}, "hernia; a, b"),
    ],
)
def test_a_decision_of_ones_own_is_read_with_its_fields_where_it_is_more_than_texts(
    decision: dict[str, Any], told: str
) -> None:
    assert Statement(round=0, seat=1, report=decision, reasoning="x").told("en") == f"{told}\nReasons: x"


# The reasons of interns.


def _with_facts(view: InternView, examinations: str) -> InternView:
    return dataclasses.replace(view, facts=Facts(symptoms="Pain.", examinations=examinations))


def test_an_intern_takes_up_a_disputed_treatment_that_a_finding_calls_for_and_quotes_it() -> None:
    reports = (report("Gout", treatment="Medication"), report("Gout", treatment="Medication, Antibiotic Therapy"))
    view = intern(1, *reports, disputed=("treatment",))
    revised = give_way(_with_facts(view, "Blood Test: normal.\nSkin Examination: pus under the nail."))
    assert revised.report.treatment == "Medication, Antibiotic Therapy"
    assert revised.reasoning == "taken up: Antibiotic Therapy; it was found: “Skin Examination: pus under the nail”"
    without = give_way(_with_facts(view, "Blood Test: normal.\nSkin Examination: no pus."))
    assert without.report.treatment == "Medication" and "pus" not in without.reasoning


def test_an_intern_gives_up_a_disputed_operation_for_which_nothing_was_found() -> None:
    reports = [report("Gout", treatment=held) for held in ("Surgery", "Surgery", "Medication")]
    revised = give_way(_with_facts(intern(3, *reports, disputed=("treatment",)), "CT: clear."))
    assert revised.report.treatment == "Medication"
    assert revised.reasoning.endswith("nothing that was found calls for it, or results deny it: Surgery")


def test_an_open_diagnosis_is_neither_taken_up_nor_given_up() -> None:
    """An intern "took up" that the diagnosis is undetermined, in place of a disease, as most held it."""
    open_ = report(undetermined(CHART))
    most_open = give_way(intern(1, report("Gout"), open_, open_, disputed=("diagnosis",)))
    assert most_open.reasoning == "given up: Gout; most of us do not hold it"
    most_named = give_way(intern(1, open_, report("Gout"), report("Gout"), disputed=("diagnosis",)))
    assert most_named.reasoning == "taken up: Gout; most of us hold it"
    still_open = give_way(intern(2, report("Gout"), open_, open_, disputed=("diagnosis",)))
    assert still_open.reasoning.startswith("kept: Undetermined")


def test_an_intern_says_what_is_kept_and_why() -> None:
    revised = give_way(intern(1, report("Gout"), report("Gout"), report("Asthma"), disputed=("diagnosis",)))
    assert revised.reasoning == "kept: Gout; most of us hold it"
    alone = give_way(intern(1, report("Gout"), report("Asthma"), disputed=("diagnosis",)))
    assert alone.reasoning == "kept: Gout; no other view has a majority"


def test_an_intern_without_a_diagnosis_takes_up_one_of_which_the_facts_speak() -> None:
    undetermined = load_words("medchain/words", "en")["group"]["undetermined"].format("pain")
    view = intern(2, report("Renal calculus"), report(undetermined), disputed=("diagnosis",))
    revised = give_way(_with_facts(view, "CT: Renal calculus of 6 mm."))
    assert revised.report.diagnosis == ["Renal calculus"]
    assert revised.reasoning.endswith("it was found: “CT: Renal calculus of 6 mm”")
    assert give_way(_with_facts(view, "CT: clear.")).report.diagnosis == [undetermined]


def _in(language: Language, view: InternView) -> InternView:
    chart = dataclasses.replace(
        CHART, language=language, presentation=Presentation(language=language, chief_complaint="?")
    )
    return dataclasses.replace(view, chart=chart)


@pytest.mark.parametrize(
    ("language", "complaint", "facts"),
    [("en", "an open sore", "Skin Examination: no open sore."), ("zh", "皮肤破溃", "皮肤检查：皮肤无破溃。")],
)
def test_no_fact_denies_that_a_diagnosis_is_open(language: Language, complaint: str, facts: str) -> None:
    disease = {"en": "Gout", "zh": "痛风"}[language]
    undetermined = load_words("medchain/words", language)["group"]["undetermined"].format(complaint)
    view = _in(
        language, intern(1, report(disease), report(undetermined), report(undetermined), disputed=("diagnosis",))
    )
    revised = give_way(_with_facts(view, facts))
    assert revised.report.diagnosis == [undetermined]
    against = load_words("medchain/words", language)["group"]["against_the_facts"].partition("{")[0]
    assert against not in revised.reasoning


@pytest.mark.parametrize(
    ("language", "facts", "quoted"),
    [
        ("en", "General Examination: Pulse 104/min, temperature 38.5 °C, BMI 29.", "“temperature 38.5 °C”"),
        ("zh", "一般检查：脉搏104次/分，体温38.5℃，体重60 kg。", "“体温38.5℃”"),
    ],
)
def test_an_intern_quotes_of_a_finding_what_calls_for_the_treatment(
    language: Language, facts: str, quoted: str
) -> None:
    plans = {"en": ("Medication", "Antibiotic Therapy"), "zh": ("药物治疗", "抗生素治疗")}[language]
    reports = (report("Gout", treatment=plans[0]), report("Gout", treatment=", ".join(plans)))
    view = _in(language, intern(1, *reports, disputed=("treatment",)))
    assert give_way(_with_facts(view, facts)).reasoning.endswith(quoted)


@pytest.mark.parametrize(("language", "facts"), [("en", "General Examination: fever."), ("zh", "一般检查：发热。")])
def test_what_most_interns_plan_is_not_put_down_to_a_finding(language: Language, facts: str) -> None:
    plans = {"en": ("Medication", "Antibiotic Therapy"), "zh": ("药物治疗", "抗生素治疗")}[language]
    reports = [report("Gout", treatment=", ".join(held)) for held in (plans, plans, plans[1:])]
    revised = give_way(_with_facts(_in(language, intern(3, *reports, disputed=("treatment",))), facts))
    group = load_words("medchain/words", language)["group"]
    assert revised.reasoning.endswith(group["most_of_us"])
