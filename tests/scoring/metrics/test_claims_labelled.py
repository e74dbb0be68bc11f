"""The judge of claims by rules beside labels: what is stated in other words, and what is contradicted or not said."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cases import load_cases
from scoring.metrics.claims import entailed
from scoring.metrics.stated_share import mostly_stated, stated_share
from tests.support.claims import judge_offline

REPORTS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("claims_labelled.toml").read_text("utf-8"))[
    "report"
]
TOPICS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("clauses_labelled.toml").read_text("utf-8"))[
    "topic"
]


def agreement(part: str, language: str, label: str) -> float:
    judged = [
        flag == (label == "stated")
        for report in REPORTS
        if (report["part"], report["language"]) == (part, language)
        for flag in entailed(report[label], report["text"])
    ]
    return sum(judged) / len(judged)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("part", "stated", "not_stated"), [("development", 0.7, 1.0), ("check", 0.85, 0.8)])
def test_it_agrees_with_labels_on_paraphrase_polarity_side_and_size(
    part: str, stated: float, not_stated: float, language: str
) -> None:
    assert agreement(part, language, "stated") >= stated
    assert agreement(part, language, "not_stated") >= not_stated


@pytest.mark.parametrize(
    ("claim", "report", "contrary"),
    [
        ("The right kidney is normal", "The renal pelvis is not dilated", "The right kidney is abnormal"),
        ("The lens is in place", "The lens sits in its place", "The lens is dislocated"),
        ("导管在位", "导管位置正常", "导管移位"),
    ],
)
def test_what_the_report_says_the_contrary_of_it_does_not_state(claim: str, report: str, contrary: str) -> None:
    assert entailed([claim], f"{report}.") == [True]
    assert entailed([claim], f"{report}. {contrary}.") == entailed([claim], f"{contrary}.") == [False]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "copied"), [("en", 0.3), ("zh", 0.4)])
def test_of_findings_copied_it_supports_more_and_of_another_patients_hardly_anything(
    language: str, copied: float
) -> None:
    """Conclusions are a third of the claims of these keys, and no finding states them."""
    cases = [case for case in load_cases() if case.language == language and case.split == "train"]
    keys = [(case, item, text) for case in cases for item, text in case.key.imaging_reports.items()]
    pairs = [(item, text, case.examinations.results[item]) for case, item, text in keys]
    others = [(item, text, pairs[place - 7][2]) for place, (item, text, _) in enumerate(pairs)]
    own, foreign = (
        [verdict.entailed for judged in rows for verdict in judge_offline(*judged).verdicts] for rows in (pairs, others)
    )
    assert sum(own) / len(own) >= copied and sum(foreign) / len(foreign) <= 0.05


@pytest.mark.parametrize(
    ("claim", "report", "is_entailed"),
    [
        ("The seizures last about two minutes.", "The seizures last about 2 minutes.", True),
        ("The seizures last about two minutes.", "The seizures last about thirty minutes.", False),
        ("发作持续约两分钟。", "发作持续约三十分钟。", False),
        ("One of the two cysts is calcified.", "Of the two cysts, one is calcified.", True),
    ],
)
def test_a_number_in_words_is_a_number(claim: str, report: str, is_entailed: bool) -> None:
    assert entailed([claim], report) == [is_entailed]


def test_the_share_that_is_stated_knows_polarity_and_other_words_for_one_thing() -> None:
    reference = "Fever for two days. No vomiting. The left ankle is swollen."
    assert stated_share("Two days febrile, no vomiting, swelling of the left ankle.", reference) >= 0.8
    assert stated_share("No fever. Vomiting. The right ankle is swollen.", reference) <= 0.2
    assert stated_share("", reference) == stated_share("Fever.", "") == 0.0


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        ("The lungs are not clear.", "The lungs are clear."),
        ("The white cell count is not 15.2.", "The white cell count is 15.2."),
        ("Do not take doxycycline 100 mg for seven days.", "Take doxycycline 100 mg for seven days."),
        ("白细胞不是15.2。", "白细胞15.2。"),
        ("后来没转到右下腹。", "后来转到右下腹。"),
    ],
)
def test_a_clause_that_denies_the_truth_does_not_state_its_subject_and_numbers(said: str, reference: str) -> None:
    assert stated_share(said, reference) == 0 and stated_share(reference, reference) == 1


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        ("I have had pain for 6 days.", "The pain has lasted six days."),
        ("他六天来一直头痛。", "患者头痛6天。"),
        ("The pupils are narrow.", "Head, Eyes, Ears, Nose and Throat Examination: The pupils are narrow."),
    ],
)
def test_numbers_in_words_labels_and_speakers_make_no_difference(said: str, reference: str) -> None:
    assert stated_share(said, reference) >= 0.75


@pytest.mark.parametrize(("said", "denied"), [("My throat isn't sore.", "No sore throat."), ("肚子不痛。", "无腹痛。")])
def test_what_is_denied_of_a_place_is_the_denial_of_the_truth(said: str, denied: str) -> None:
    assert stated_share(said, denied) >= 0.5 and stated_share(said, denied.removeprefix("No ").removeprefix("无")) == 0


def test_a_normal_size_does_not_deny_what_follows() -> None:
    assert stated_share("The kidney has a cyst.", "The kidney is of normal size with a cyst.") >= 0.6
    assert not any(entailed(["右侧肾上腺未见结节"], "左侧肾上腺未见结节。右侧肾上腺见结节。"))


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        ("Fever without chills.", "Fever with chills."),
        ("The left breast has a lump with a retracted skin.", "The left breast has a lump without a retracted skin."),
        ("腹痛，不伴呕吐。", "腹痛伴呕吐。"),
    ],
)
def test_of_what_is_with_or_without_something_else_one_half_may_be_stated(said: str, reference: str) -> None:
    assert 0.3 <= stated_share(said, reference) <= 0.7


@pytest.mark.parametrize("said", ["No mass with calcification.", "A mass with calcification is not seen."])
def test_a_denial_reaches_across_what_is_with_something_else(said: str) -> None:
    assert stated_share(said, "A mass with calcification.") == 0


@pytest.mark.parametrize(
    ("said", "reference", "opposite"),
    [
        ("吃完就吐。", "餐后呕吐。", "餐后无呕吐。"),
        ("石头随尿排出来了。", "结石已排出。", "结石未排出。"),
        ("吃奶有力。", "吃奶好。", "拒奶。"),
    ],
)
def test_a_chinese_clause_is_stated_by_one_of_the_same_meaning(said: str, reference: str, opposite: str) -> None:
    assert stated_share(reference, reference) == 1 > stated_share(said, reference) >= 0.7
    assert stated_share(opposite, reference) < 0.7


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        ("疼痛加重。", "疼痛减轻。"),
        ("体温下降。", "体温升高。"),
        ("食欲好。", "食欲差。"),
        ("意识模糊。", "意识清楚。"),
        ("饭前疼。", "饭后疼。"),
        ("间歇性疼痛。", "持续性疼痛。"),
    ],
)
def test_a_chinese_clause_with_the_opposite_word_states_no_more_than_they_share(said: str, reference: str) -> None:
    assert stated_share(said, reference) <= 0.5 and not any(mostly_stated([reference], said))


def test_a_finding_is_not_told_by_its_opposite_of_which_it_has_most_words() -> None:
    findings = ["肾功能受损。", "疝可回纳。"]
    assert mostly_stated(findings, "肾功能正常。疝不能回纳。") == [False, False]
    assert mostly_stated(findings, "血压正常。肾功能受损。疝可回纳。") == [True, True]


@pytest.mark.parametrize(
    ("said", "reference", "denied"),
    [
        ("The skin is moist.", "The skin is dry.", "The skin is not moist."),
        ("The knee pain is worse on walking.", "The knee pain is better on walking.", "The knee pain is not worse."),
        ("The wound is infected.", "The wound is clean.", "The wound is not infected."),
        ("The joint was stiff and swollen.", "The joint was supple.", "The joint was not stiff."),
        ("Breath sounds are loud.", "Breath sounds are decreased.", "Breath sounds are not loud."),
        ("两肺呼吸音清。", "两肺呼吸音粗。", "两肺呼吸音不清。"),
        ("皮肤潮湿，食欲差。", "食欲好。", "食欲不差。"),
    ],
)
def test_a_clause_with_the_opposite_word_states_nothing_unless_it_denies_that(
    said: str, reference: str, denied: str
) -> None:
    assert stated_share(said, reference) == 0 < stated_share(denied, reference)
    assert stated_share(f"{said} {reference}", reference) == 1


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        ("The pulse is 150/min.", "The pulse is 94/min."),
        ("Metoprolol 100 mg twice daily.", "Metoprolol 50 mg twice daily."),
        ("The nodule is 2 cm.", "The nodule measures 15 mm. The heart is normal."),
        ("体温39℃。", "体温36.5℃，血压正常。"),
        ("腹痛三天。", "腹痛七天。"),
    ],
)
def test_a_clause_with_another_number_of_the_same_unit_states_nothing(said: str, reference: str) -> None:
    assert stated_share(said, reference) == 0
    assert stated_share(f"{said} {reference}", reference) == 1


def test_a_number_that_the_reference_has_elsewhere_or_in_another_unit_takes_nothing_away() -> None:
    reference = "The temperature is 38.0 °C. Every evening the temperature rose to 38.2 °C."
    assert stated_share("The temperature was 38.2 °C every evening.", reference) >= 0.5
    assert stated_share("Fever for 48 hours.", "Fever for two days.") > 0


@pytest.mark.parametrize(
    ("said", "reference"),
    [
        (
            "The spells are under a minute long.",
            "Short spinning attacks of less than a minute on lying down and turning.",
        ),
        ("肿块边界模糊。", "肿块边界不清。"),
    ],
)
def test_a_word_for_the_opposite_of_something_else_takes_nothing_away(said: str, reference: str) -> None:
    assert stated_share(said, reference) > 0


@pytest.mark.parametrize(
    ("part", "language", "opposite", "paraphrase"),
    [("check", "en", 0.32, 0.42), ("development", "zh", 0.42, 0.5), ("check", "zh", 0.42, 0.5)],
)
def test_of_labelled_clauses_a_paraphrase_states_more_than_the_opposite(
    part: str, language: str, opposite: float, paraphrase: float
) -> None:
    clauses = [
        each for topic in TOPICS if (topic["part"], topic["language"]) == (part, language) for each in topic["clauses"]
    ]
    shares = [[stated_share(said, clause) for said in others] for clause, *others in clauses]
    means = [sum(column) / len(column) for column in zip(*shares, strict=True)]
    assert means[0] >= paraphrase and means[1] <= opposite


@pytest.mark.parametrize(
    ("reference", "paraphrase", "other"),
    [
        ("The swelling has gone down.", "It is less swollen now.", "The swelling is on the left."),
        ("He cannot sleep.", "Falling asleep is hard for him.", "He sleeps soundly."),
        ("She lost her hair.", "Her scalp has become bald.", "Her hair is dark."),
    ],
)
def test_an_english_clause_is_stated_by_one_of_the_same_meaning(reference: str, paraphrase: str, other: str) -> None:
    assert stated_share(paraphrase, reference) >= 0.7 > stated_share(other, reference)
