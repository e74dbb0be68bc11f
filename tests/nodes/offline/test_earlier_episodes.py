"""Whether this came before: what the patient tells of it, and what is no answer."""

import pytest

from cases import load_cases
from cases.case import PatientRecord
from cases.vocabulary import Language
from nodes.offline.earlier_episodes import asks_of_earlier_episodes, tells_of_earlier_episodes
from nodes.offline.record_answers import answer_from_record
from prompts import load_words

_STORY: dict[Language, str] = {
    "en": "Since yesterday she has had a dull pain in the upper belly, worse after meals.",
    "zh": "昨天起上腹隐痛，饭后加重。",
}


@pytest.mark.parametrize(
    ("language", "question", "sentence"),
    [
        ("en", "Have you had anything like this before?", "She had a similar spell two summers ago."),
        ("en", "Is this the first time?", "No prior episodes of this kind are reported."),
        ("en", "Has this come back, or is it new?", "The same pain troubled her for a week in 2019."),
        ("zh", "以前这样犯过吗？", "三年前也这样痛过一回，自行缓解。"),
        ("zh", "这是第几次发作了？", "既往无类似发作。"),
        ("zh", "上次犯这病是什么时候？", "反复腹痛五年，每年冬天加重。"),
        ("zh", "这毛病是新得的还是老毛病又犯了？", "前年曾因同样的腹痛就诊。"),
        ("en", "Has it recurred?", "She has a history of recurrent ulcers."),
    ],
)
def test_an_earlier_episode_is_told_and_nothing_else(language: Language, question: str, sentence: str) -> None:
    others = {"en": " In 2015 he was in a car accident. ", "zh": "2015年出过车祸。"}[language]
    patient = PatientRecord(chief_complaint="x", present_illness=_STORY[language] + others + sentence, past_history="")
    told = answer_from_record(question, patient, [], language)
    assert not any(each in told for each in ("meals", "accident", "饭后", "车祸"))
    assert told not in load_words("consultation/words", language)["patient"].values()


@pytest.mark.parametrize(
    ("language", "question"), [("en", "Have you had anything like this before?"), ("zh", "以前这样犯过吗？")]
)
def test_what_happened_to_others_or_years_ago_is_no_earlier_episode(language: Language, question: str) -> None:
    near = {
        "en": "Another child of his group has had similar spots. He was in a car accident five years ago. "
        "His mother had a history of recurrent ulcers.",
        "zh": "反复发热五天。同班一个孩子也起过类似的疹子。五年前出过车祸，之后复查没有复发。父亲有反复发作的胃病史。",
    }[language]
    patient = PatientRecord(chief_complaint="x", present_illness=f"{_STORY[language]} {near}")
    told = answer_from_record(question, patient, [], language)
    assert told == load_words("consultation/words", language)["patient"]["untold"]


@pytest.mark.parametrize(
    ("language", "question", "asks"),
    [
        ("en", "Has it relapsed?", True),
        ("en", "Any recurrences?", True),
        ("en", "Could I take anything to prevent a recurrence?", False),
        ("en", "Since the relapse, how have you slept?", False),
        ("en", "Was it triggered by stress, like your earlier attacks?", False),
        ("zh", "上次发病是什么时候？", True),
        ("zh", "这是第几次了？", True),
        ("zh", "上次发现血压高是什么时候？", False),
        ("zh", "上次发烧多少度？", False),
        ("zh", "您怀孕第几次了？", False),
    ],
)
def test_a_question_for_an_earlier_episode_is_told_from_its_neighbours(
    language: Language, question: str, asks: bool
) -> None:
    assert asks_of_earlier_episodes(question, language) is asks


@pytest.mark.parametrize("sentence", ["多年来每年冬天复发。", "反复咳嗽十余年。", "每年犯两三回。", "半年前再发胸痛。"])
def test_what_comes_again_and_again_came_before(sentence: str) -> None:
    assert tells_of_earlier_episodes(sentence, "zh")


@pytest.mark.parametrize(
    "sentence",
    [
        "每年打流感疫苗一次。",
        "有两次输血史。",
        "情绪反复无常。",
        "现已不再发烧。",
        "反复低热数天。",
        "反复高热半个月。",
        "症状反复，与天气有关。",
    ],
)
def test_what_is_done_every_year_or_came_for_days_is_no_earlier_episode(sentence: str) -> None:
    assert not tells_of_earlier_episodes(sentence, "zh")


def test_most_patients_without_an_earlier_episode_tell_of_none() -> None:
    """Of all built-in cases, few have one on record."""
    cases = [case for case in load_cases() if case.language == "en"]
    untold = load_words("consultation/words", "en")["patient"]["untold"]
    told = [answer_from_record("Have you had anything like this before?", case.patient, [], "en") for case in cases]
    assert 0 < sum(each != untold for each in told) < len(cases) / 3
