from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.vocabulary import PHYSICAL_ITEMS, TREATMENT_ITEMS
from nodes.asking import StageView
from nodes.offline.chart_signs import urgency
from nodes.offline.group_words import reason, undetermined
from nodes.offline.places import usual_pictures
from nodes.offline.votes import Evidence, majority
from nodes.state.decisions import Decision, Diagnosis
from nodes.state.stage import Opinion, Options
from nodes.workflow.general_agent import DiscussionView, weigh_or_give_way
from nodes.workflow.stages import STAGES, read_chart
from nodes.workflow.summarizing_agent import most_held
from prompts import load_words
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings

CHART = {name: read_chart(findings(), name, None) for name in STAGES}  # type: ignore[arg-type]


def summed_up(stage: str, *proposals: dict[str, Any], options: tuple[str, ...] = ()) -> Decision:
    opinions = [
        Opinion(discussion_round=1, seat=seat, decision=each, reasoning="") for seat, each in enumerate(proposals, 1)
    ]
    return most_held(StageView(STAGES[stage], CHART[stage], None, Options(options, "en"), [], []), opinions)


# The summarizing agent without a model: it adds up what the group said, and nothing of its own.


@pytest.mark.parametrize(
    ("stage", "proposal"),
    [
        ("referral.level1", {"urgency": "emergency", "department": "Surgery"}),
        ("referral.level2", {"sub_departments": ["General Surgery"]}),
        ("history_taking.physical", {"items": []}),
        ("history_taking.auxiliary", {"items": ["CT", "Blood Test"]}),
        ("examination", {"findings": "A nodule.", "impression": "Benign."}),
        ("diagnosis", {"names": ["Angina", "Gout"], "basis": "Pain on effort."}),
        ("treatment", {"items": ["Surgery"], "plan": "Tomorrow."}),
    ],
)
def test_what_the_whole_group_proposes_is_decided_word_for_word(stage: str, proposal: dict[str, Any]) -> None:
    assert summed_up(stage, proposal, proposal, proposal).model_dump() == proposal


def test_a_choice_of_more_than_half_is_taken_and_another_is_not() -> None:
    decision = summed_up(
        "treatment",
        {"items": ["Surgery", "Medication"], "plan": "one"},
        {"items": ["Medication", "Radiotherapy"], "plan": "two"},
        {"items": ["Medication"], "plan": "three"},
    )
    assert decision.model_dump() == {"items": ["Medication"], "plan": "three"}


def test_one_disease_in_two_spellings_has_two_voices() -> None:
    decision = summed_up(
        "diagnosis",
        {"names": ["Gout"], "basis": "b"},
        {"names": ["Acute  Appendicitis."], "basis": "c"},
        {"names": ["acute appendicitis"], "basis": "d"},
    )
    assert decision.choices() == {"Acute  Appendicitis."} and decision.model_dump()["basis"] == "c"


def test_where_the_group_is_of_as_many_minds_as_heads_the_first_seat_is_followed() -> None:
    proposals = [{"names": [name], "basis": name} for name in ("Gout", "Angina", "Asthma")]
    assert summed_up("diagnosis", *proposals).model_dump() == proposals[0]


@given(st.lists(st.lists(st.sampled_from(PHYSICAL_ITEMS.names[:4]), unique=True), min_size=1, max_size=5))
def test_whatever_is_proposed_only_what_someone_proposed_is_decided(proposals: list[list[str]]) -> None:
    decision = summed_up("history_taking.physical", *({"items": items} for items in proposals))
    majority = {
        item for items in proposals for item in items if sum(item in each for each in proposals) * 2 > len(proposals)
    }
    assert decision.choices() == (majority or set(proposals[0]))


# A general agent without a model: the votes of similar cases.


def neighbour(similarity: float, *items: str) -> Neighbour:
    case = RememberedCase(id=str(similarity), verified=True, treatment_items=list(items))
    return Neighbour(case, similarity)


def voted(seat: int, *neighbours: Neighbour) -> set[str]:
    stage = STAGES["treatment"]
    chart = replace(CHART["treatment"], results={"CT": "A mass."})  # or nobody would operate
    view = DiscussionView(stage, chart, None, Options(TREATMENT_ITEMS.names, "en"), list(neighbours), [], seat, [])
    return set(weigh_or_give_way(view).decision.choices())


def test_the_seats_look_at_the_similar_cases_each_in_its_own_way() -> None:
    told = replace(neighbour(0.9, "Surgery"), told=0.9)
    found = replace(neighbour(0.8, "Medication"), told=0.0, found=0.9)
    both = replace(neighbour(0.7, "Radiation Therapy"), told=0.5, found=0.5)
    assert voted(1, told, found, both) == {"Medication"}, "what was found counts most"
    assert voted(2, told, found, both) == {"Surgery"}, "what is told counts most"
    assert voted(3, told, found, both) == {"Radiation Therapy"}, "the nearest case alone"
    said, seen = (replace(neighbour(0.9, item), told=0.9, found=0.9) for item in ("Psychological Therapy", "Surgery"))
    less_said, less_seen = replace(said, told=0.1), replace(seen, found=0.1)
    assert voted(4, less_said, less_seen) == {"Psychological Therapy"}, "what was found alone"
    assert voted(5, less_said, less_seen) == {"Surgery"}, "what is told alone"


# Why a doctor of a group decides so.


def diagnosed(result: str, *neighbours: Neighbour) -> tuple[list[str], str]:
    chart = replace(CHART["diagnosis"], results={"CT": result})
    proposal = weigh_or_give_way(
        DiscussionView(STAGES["diagnosis"], chart, None, Options((), "en"), list(neighbours), [], 1, [])
    )
    return proposal.decision.names, proposal.reasoning


def test_a_doctor_with_an_undetermined_diagnosis_says_that_no_case_is_near_enough() -> None:
    """Three doctors explained it by "similar cases, what was found counts most"."""
    far = Neighbour(RememberedCase(id="far", verified=True, diagnosis=["Gout"]), 0.5, told=0.1, found=0.1)
    names, why = diagnosed("A mass.", far)
    assert names[0].startswith("Undetermined")
    assert why == "similar cases, what was found counts most; none is near enough and fits"


@pytest.mark.parametrize("near", [(), (Neighbour(RememberedCase(id="a", verified=True, diagnosis=["Gout"]), 0.5),)])
def test_a_doctor_quotes_the_result_that_names_the_disease_and_no_similar_case(near: tuple[Neighbour, ...]) -> None:
    names, why = diagnosed("A clot on the left. The findings are consistent with pulmonary embolism.", *near)
    assert names == ["pulmonary embolism"]
    assert why == "it was found: “The findings are consistent with pulmonary embolism”"


def after_the_talk(stage: str, seat: int, *proposed: dict[str, Any], neighbours: Sequence[Neighbour] = ()) -> Any:
    said = [
        Opinion(discussion_round=0, seat=number, decision=decision, reasoning="")
        for number, decision in enumerate(proposed, start=1)
    ]
    view = DiscussionView(STAGES[stage], CHART[stage], None, Options((), "en"), list(neighbours), [], seat, said)
    return weigh_or_give_way(view)


def test_a_doctor_takes_up_what_most_of_the_group_hold_item_by_item_and_says_so() -> None:
    items = ["General Examination", "Chest Examination", "Neck Examination"]
    three = [{"items": items[:2]}, {"items": items[1:]}, {"items": [items[0], items[1], "Skin Examination"]}]
    answer = after_the_talk("history_taking.physical", 2, *three)
    assert answer.decision.choices() == {*items[:2]}
    assert answer.reasoning == ("taken up: General Examination; given up: Neck Examination; by majority of the group")


def test_of_proposals_without_a_majority_a_doctor_takes_that_of_the_nearest_case_if_one_is_at_hand() -> None:
    three = [{"names": [name], "basis": name} for name in ("Gout", "Angina", "Asthma")]
    near = Neighbour(RememberedCase(id="near", verified=True, diagnosis=["Angina"]), 0.9)
    answer = after_the_talk("diagnosis", 1, *three, neighbours=[near])
    assert answer.decision.names == ["Angina"] and answer.reasoning.startswith("taken up: Angina; given up: Gout")
    kept = after_the_talk("diagnosis", 1, *three)
    assert kept.decision.names == ["Gout"] and kept.reasoning == "kept: Gout; no other view has a majority"


@pytest.mark.parametrize("seat", [1, 2, 3, 4, 5])
def test_without_similar_cases_every_seat_still_answers(seat: int) -> None:
    assert voted(seat) == {"Medication"}


def test_the_basis_of_a_diagnosis_is_the_complaint_then_pictures_and_the_general_examination_last() -> None:
    door = CHART["diagnosis"].presentation.model_copy(update={"chief_complaint": "My knee hurts."})
    results = {"General Examination": " ".join(f"Pulse {n}/min." for n in range(72, 172)), "MRI": "A long text."}
    chart = replace(CHART["diagnosis"], presentation=door, reports={"MRI": "A torn meniscus."}, results=results)
    basis = STAGES["diagnosis"].without_model(["Meniscus tear"], chart, ())["basis"]
    assert basis.startswith("My knee hurts. A torn meniscus. A long text. Pulse 72/min.") and len(basis) <= 500
    assert basis.endswith("/min.")


@pytest.mark.parametrize("examiner", [("ai_hospital/words", "examiner"), ("medpmc/words", "technician")])
def test_a_basis_says_first_what_decided_each_finding_once_and_nothing_of_what_was_not_found(
    examiner: tuple[str, str],
) -> None:
    door = CHART["diagnosis"].presentation.model_copy(update={"chief_complaint": "My knee hurts."})
    words, person = examiner
    nothing = load_words(words, "en")[person]["normal"]
    results = {"X-ray": "No fracture.", "Blood Test": f"Blood Test: {nothing}", "Urine Test": "Consistent with gout."}
    reports = {"X-ray": "No fracture.", "MRI": reason("no_description", CHART["diagnosis"])}
    chart = replace(CHART["diagnosis"], presentation=door, reports=reports, results=results)
    assert STAGES["diagnosis"].without_model([], chart, ()) == {
        "names": ["gout"],
        "basis": "My knee hurts. Consistent with gout. No fracture.",
    }


@pytest.mark.parametrize(
    ("result", "similar", "diagnosed"),
    [
        ("Consistent with lobar pneumonia.", ["Gout"], "lobar pneumonia"),
        ("Suggestive of a brain tumor.", ["Gout"], "brain tumor"),
        ("Hyperkeratosis, consistent with the clinical diagnosis.", ["Gout"], "Gout"),
        ("Linear marks suggesting significant scratching.", ["Gout"], "Gout"),
        ("Suggestive of reduced blood flow to the mesenteric arteries.", ["Gout"], "Gout"),
        ("Suggestive of mild asthma.", ["Gout"], "mild asthma"),
        ("Suggestive of local infection or inflammation.", ["Gout"], "Gout"),
        ("Antibodies elevated, supportive of Lambert-Eaton syndrome diagnosis.", [], "Lambert-Eaton syndrome"),
        ("HbA1c 9 %, indicating poor diabetes control.", [], "Undetermined"),
        ("HbA1c 6 %, indicative of controlled diabetes.", [], "Undetermined"),
        ("MRI suggestive of neurodegenerative processes.", ["Gout"], "Gout"),
        ("Fluid, indicative of a cystic nature.", [], "Undetermined"),
        ("Dry mucous membranes, indicating possible dehydration.", ["Gout"], "Gout"),
        ("White cells raised, consistent with a mild leukocytosis.", [], "Undetermined"),
        ("心电图提示心脏受累。", [], "Undetermined"),
        ("X线片提示类风湿性改变。", ["Gout"], "Gout"),
        ("Presence of a gastric ulcer on the lesser curvature.", [], "gastric ulcer"),
        ("Presence of a gastric ulcer on the lesser curvature.", ["Gout"], "Gout"),
        ("MRI shows an L5-S1 disc herniation impinging on the root.", [], "L5-S1 disc herniation"),
        ("Examination shows mild glossitis.", [], "Undetermined"),
        ("X-ray shows a minimally displaced fracture.", [], "minimally displaced fracture"),
        ("Free air, consistent with perforation.", [], "Undetermined"),
        ("Free air, consistent with perforation of a gastric ulcer.", [], "perforation of a gastric ulcer"),
        ("No evidence of sacroiliitis, and showed no fracture.", [], "Undetermined"),
        ("X线片显示左胫骨远端骨折，断端移位。", [], "左胫骨远端骨折"),
        ("X线片显示左胫骨远端骨折，断端移位。", ["Gout"], "Gout"),
        ("CT显示胆囊结石，考虑为慢性胆囊炎。", [], "慢性胆囊炎"),
        ("病理示：胃腺癌。", [], "胃腺癌"),
        ("提示：急性胰腺炎", ["Gout"], "急性胰腺炎"),
        ("考虑感染。", ["Gout"], "Gout"),
        ("占位，考虑恶性可能。", ["Gout"], "Gout"),
        ("鼻内镜提示左侧上颌窦新生物。", ["Gout"], "Gout"),
        ("活检提示宫颈高级别鳞状上皮内病变。", ["Gout"], "宫颈高级别鳞状上皮内病变"),
        ("患者表示担心癌，已指示病人做胃镜排除癌。", [], "Undetermined"),
        ("B超未显示结石，血常规显示白细胞计数升高。", [], "Undetermined"),
    ],
)
def test_a_disease_that_a_result_concludes_comes_before_similar_cases_and_one_that_it_shows_after_them(
    result: str, similar: list[str], diagnosed: str
) -> None:
    chart = replace(CHART["diagnosis"], results={"CT": result})
    assert STAGES["diagnosis"].without_model(similar, chart, ())["names"][0].startswith(diagnosed)


def test_a_disease_that_two_results_name_is_named_once_and_in_full() -> None:
    results = {"Blood Test": "Consistent with an abortion.", "Ultrasound": "Indicative of a completed abortion."}
    chart = replace(CHART["diagnosis"], results=results)
    assert STAGES["diagnosis"].without_model([], chart, ())["names"] == ["completed abortion"]


@pytest.mark.parametrize("complaint", ["My lower tooth came out.", "右下两颗牙拔掉了。"])
def test_of_a_tooth_a_film_is_usual_and_no_mri(complaint: str) -> None:
    told = {"chief_complaint": complaint, "language": "zh" if "牙" in complaint else "en"}
    door = CHART["diagnosis"].presentation.model_copy(update=told)
    assert usual_pictures(replace(CHART["diagnosis"], presentation=door)) == ["X-ray"]


@pytest.mark.parametrize(("language", "named"), [("en", "Gout"), ("en", ""), ("zh", "痛风"), ("zh", "")])
def test_without_a_diagnosis_no_offline_doctor_recommends_an_operation(language: Any, named: str) -> None:
    chart = replace(CHART["treatment"], language=language)
    diagnosis = Diagnosis(names=[named or reason("undetermined", chart, "Fever")], basis="")
    treated = STAGES["treatment"].without_model(["Surgery", "Medication"], replace(chart, diagnosis=diagnosis), ())
    assert treated["items"] == (["Surgery", "Medication"] if named else ["Medication"])


def test_treatment_is_that_of_remembered_cases_of_the_disease_if_there_are_any() -> None:
    """Iron deficiency was to be operated on, as two in five similar cases had been, and so was a pneumonia."""
    case = neighbour(0.2, "Antibiotic Therapy").case.model_copy(update={"diagnosis": ["Gout"]})
    gout = Neighbour(case, 0.2)
    cases = [neighbour(0.9, "Surgery"), neighbour(0.8, "Surgery"), gout]
    for name, item in (("gout", "Antibiotic Therapy"), ("Sepsis", "Medication")):
        chart = replace(CHART["treatment"], diagnosis=Diagnosis(names=[name], basis=""))
        assert majority(Evidence(STAGES["treatment"], chart, cases, TREATMENT_ITEMS.names)).listed() == [item]


@pytest.mark.parametrize("complaint", ["Hearing voices", "Crying for five hours"])
def test_without_a_diagnosis_psychotherapy_is_for_complaints_of_the_mind_alone(complaint: str) -> None:
    door = CHART["treatment"].presentation.model_copy(update={"chief_complaint": complaint, "present_illness": ""})
    chart = replace(CHART["treatment"], presentation=door)
    chart = replace(chart, diagnosis=Diagnosis(names=[undetermined(chart)], basis=""))
    treated = STAGES["treatment"].without_model(["Psychological Therapy", "Medication"], chart, ())["items"]
    assert ("Psychological Therapy" in treated) == (complaint == "Hearing voices")


@pytest.mark.parametrize(
    ("complaint", "language", "infected"),
    [
        ("My right groin hurts when I walk.", "en", False),
        ("My right groin hurts. There is no fever.", "en", False),
        ("Pus runs from my ear.", "en", True),
        ("右腹股沟区疼痛，无发热。", "zh", False),
        ("发热、咽痛三天。", "zh", True),
    ],
)
def test_without_a_diagnosis_antibiotics_are_for_signs_of_an_infection(
    complaint: str, language: str, infected: bool
) -> None:
    told = {"chief_complaint": complaint, "present_illness": "", "language": language}
    door = CHART["treatment"].presentation.model_copy(update=told)
    chart = replace(CHART["treatment"], presentation=door, language=language, results={}, reports={})
    chart = replace(chart, diagnosis=Diagnosis(names=[undetermined(chart)], basis=""))
    treated = STAGES["treatment"].without_model(["Antibiotic Therapy", "Medication"], chart, ())["items"]
    assert ("Antibiotic Therapy" in treated) == infected


@pytest.mark.parametrize(
    ("complaint", "moved"),
    [("My throat hurts so much that I cannot swallow.", False), ("Watery diarrhea", False), ("My knee hurts.", True)],
)
def test_without_a_diagnosis_physical_therapy_is_for_what_can_be_moved(complaint: str, moved: bool) -> None:
    """An abscess of the tonsil was to have physical therapy, as two in five similar cases had had."""
    door = CHART["treatment"].presentation.model_copy(update={"chief_complaint": complaint, "present_illness": ""})
    chart = replace(CHART["treatment"], presentation=door)
    chart = replace(chart, diagnosis=Diagnosis(names=[undetermined(chart)], basis=""))
    treated = STAGES["treatment"].without_model(["Physical Therapy", "Medication"], chart, ())["items"]
    assert ("Physical Therapy" in treated) == moved


@pytest.mark.parametrize("complaint", ["Voices encouraging self-harm", "反复有自杀念头"])
def test_who_may_harm_himself_is_an_emergency(complaint: str) -> None:
    door = CHART["diagnosis"].presentation.model_copy(update={"chief_complaint": complaint, "present_illness": ""})
    assert urgency(replace(CHART["diagnosis"], presentation=door)) == "emergency"


@pytest.mark.parametrize(
    ("complaint", "language", "urgent"),
    [
        ("I cannot get enough air since an hour ago.", "en", "emergency"),
        ("A bee stung me and my throat is tight.", "en", "emergency"),
        ("喉咙发紧、喘不上气，还晕倒了一次。", "zh", "emergency"),
        ("I have a cold. There is no chest pain, no seizure and no collapse.", "en", "routine"),
        ("感冒，无胸痛，无呼吸困难。", "zh", "routine"),
        ("心口疼2个小时，出冷汗，喘不匀气。", "zh", "emergency"),  # in everyday words
        ("老人上不来气，叫不醒。", "zh", "emergency"),
        ("说话大舌头，1小时了。", "zh", "emergency"),
        ("不想活了，喝了敌敌畏。", "zh", "emergency"),
        ("吐血两回。", "zh", "emergency"),
        ("打摆子、发高烧3天。", "zh", "urgent"),
        ("尿不出来，一晚上了。", "zh", "urgent"),
        ("心口不疼，就是咳嗽。", "zh", "routine"),
        ("孩子没抽风，也没有吐血。", "zh", "routine"),
        ("总想躺着，不想活动。", "zh", "routine"),
        ("从小时候起就怕冷。", "zh", "routine"),
        ("体检心率60次/分钟。", "zh", "routine"),
        ("头晕，每次几分钟就好。", "zh", "routine"),
        ("For three months I have had chest pain now and then.", "en", "urgent"),
        ("For three months I have had chest pain, and since yesterday I cannot breathe.", "en", "emergency"),
        ("Every night I lie awake for two hours every time.", "en", "routine"),
    ],
)
def test_what_is_denied_or_lasts_for_months_is_no_emergency(complaint: str, language: str, urgent: str) -> None:
    told = {"chief_complaint": complaint, "present_illness": "", "language": language}
    door = CHART["diagnosis"].presentation.model_copy(update=told)
    assert urgency(replace(CHART["diagnosis"], presentation=door, dialogue=[])) == urgent
