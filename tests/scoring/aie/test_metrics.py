import random
import re
from collections.abc import Callable
from typing import Any

import jieba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_chinese import Rouge

from scoring.aie.courses import by_length
from scoring.aie.metrics import (
    METRICS,
    accuracy,
    coverage,
    data_set_language,
    diagnosis_is_right,
    distinct,
    distinct_by_length,
    doctor_lengths,
    inquiry_logic,
    score_aie,
    share,
    specificity,
    unanswered,
)
from scoring.aie.transcripts import ACTIONS, AieTranscript
from scoring.metrics.samples import Definition, estimates
from tests.scoring.metrics.test_text_overlap import scorer
from tests.scoring.transcripts_of_ours import CHINESE, ENGLISH, aie, turn

DATA_SETS = {"en": ENGLISH, "zh": CHINESE}


def edit_ratio(one: str, other: str) -> float:
    """Independent of RapidFuzz: insertions and deletions by the textbook's table."""
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, against in enumerate(other, 1):
            line.append(above[column - 1] if letter == against else 1 + min(above[column], line[-1]))
        above = line
    return 1 - above[-1] / (len(one) + len(other))


def published(data: dict[str, Any], language: str) -> dict[str, list[float]]:
    """The recipes of the tables, written down once more with the libraries their authors used."""
    record, history = data["raw_data"]["question"], data["history"]
    states = [entry["state"] for entry in history]
    collected = "".join(entry.get("patient", "") for entry in history if entry["state"] in ("O", "A-A-A", "B-A-A"))
    spaced: Callable[[str], str] = (lambda text: " ".join(jieba.cut(text))) if language == "zh" else str
    if language == "zh":
        recall = Rouge().get_scores(spaced(collected), spaced(record))[0]["rouge-1"]["r"]
    else:
        recall = scorer().score(record, collected)["rouge1"].recall

    def part(hits: set[str], among: set[str]) -> float:
        total = sum(state in among for state in states)
        return sum(state in hits for state in states) / total if total else 0.0

    dialogue = ""
    for entry in history:
        dialogue += entry["doctor"]
        if "patient" in entry or entry["state"] in ("O", "A-A-A", "B-A-A"):
            dialogue += entry.get("patient", "") + "\n"
    tokens = re.sub(r"[^\w\s]", "", spaced(dialogue)).split()
    return {
        "DIAGNOSIS": [100.0 * (data["diagnosis"] == data["raw_data"]["answer_idx"])],
        "COVERAGE": [100 * recall],
        "INQUIRY_ACC": [100 * part({"A-A-A"}, {"A-A-A", "A-A-B", "A-B"})],
        "INQUIRY_SPECIFIC": [100 * part({"A-A-A", "A-A-B"}, {"A-A-A", "A-A-B", "A-B"})],
        "INQUIRY_LOGIC": [100 * edit_ratio(spaced(collected), spaced(record))],
        "ADVICE_ACC": [100 * part({"B-A-A"}, {"B-A-A", "B-A-B", "B-B"})],
        "ADVICE_SPECIFIC": [100 * part({"B-A-A", "B-A-B"}, {"B-A-A", "B-A-B", "B-B"})],
        "DISTINCT": [100 * len({tuple(tokens[i : i + 2]) for i in range(len(tokens) - 1)}) / len(tokens)],
        "AVG_TURN": [float(len(history))],
        "AVG_LEN": [
            float(len(text) if re.search("[\u4e00-\u9fff]", text) else len(text.split(" ")))
            for text in (entry["doctor"] for entry in history)
        ],
    }


@pytest.mark.parametrize("language", DATA_SETS)
def test_paper_mode_is_the_published_computation(language: str) -> None:
    data = DATA_SETS[language]
    transcripts = [AieTranscript.model_validate(entry) for entry in data]
    assert data_set_language(transcripts) == language
    samples = score_aie(transcripts, "paper")
    expected = [published(entry, language) for entry in data]
    for name in METRICS:
        values = [value for entry in expected for value in entry[name]]
        assert [sample.value for sample in samples[name]] == pytest.approx(values), name


def test_paper_mode_by_hand() -> None:
    first, second = (AieTranscript.model_validate(entry) for entry in ENGLISH)
    # a 40 year old man has had a cough for 3 day he smoke chest x ray show pneumonia what is the diagnosi: 23 tokens;
    # told: i have been [cough] [for] [3] day(=days) yes i [smoke] [the] [chest] [x] [ray] [show] [pneumonia].
    assert coverage(first, "paper", "en") == pytest.approx(11 / 23)
    assert doctor_lengths(first, "paper") == [6, 4, 2, 2, 5, 5]
    assert doctor_lengths(second, "paper") == [11, 4, 5]
    assert [share(flags, "paper") for flags in (accuracy(first, "inquiry"), specificity(first, "inquiry"))] == [
        [pytest.approx(1 / 3)],
        [pytest.approx(2 / 3)],
    ]
    assert share(accuracy(second, "inquiry"), "paper") == [0] and share(accuracy(first, "advice"), "paper") == [1]


def test_the_published_error_of_the_length_counts_turns_and_ours_counts_cases() -> None:
    samples = score_aie((AieTranscript.model_validate(entry) for entry in ENGLISH), "paper")
    assert estimates(samples, clustered=False)["AVG_LEN"].n == 9
    assert estimates(samples, clustered=False)["COVERAGE"].n == 2
    clustered = estimates(samples, clustered=True)["AVG_LEN"]
    assert clustered.n == 9 and clustered.se != estimates(samples, clustered=False)["AVG_LEN"].se


def test_sound_mode_by_hand() -> None:
    told = aie(
        "Cough for days. He smokes. What is it?",
        turn("O", "Hello you", "I cough."),
        turn("A-A-A", "Smoker?", "He smokes"),
        turn("A-A-A", "Days?", "咳嗽三天"),
        turn("A-B", "More?", "cough for days"),
    )
    assert coverage(told) == pytest.approx(3 / 5)  # cough, he, smoke of cough for day he smoke
    assert inquiry_logic(told) == pytest.approx(2 * 3 / (6 + 5))  # i cough he smoke 咳嗽 三天
    assert accuracy(told, "inquiry") == [1, 1, 0] and specificity(told, "inquiry") == [1, 1, 0]
    assert share(accuracy(told, "advice")) == []
    # hello you i cough smoker he smoke day 咳嗽 三天 more cough for day
    assert distinct(told) == pytest.approx(13 / 13)
    assert doctor_lengths(told) == [2, 1, 1, 1]


def test_published_distinct_cuts_chinese_before_it_removes_punctuation() -> None:
    told = aie("咳嗽三天。", turn("O", "多,少", ""))
    assert distinct(told, "paper", "zh") == pytest.approx(1 / 2)  # 多 少; without the comma, 多少 is one word


def test_distinct_by_length_counts_full_windows_of_fifty_bigrams_of_words_in_use() -> None:
    first = [f"x{number}" for number in range(51)]  # 50 bigrams, each another
    record = " ".join(first)

    def share(*words: str) -> float:
        (found,) = distinct_by_length([aie(record, turn("O", " ".join(words)))])
        return found.value

    assert share(*first) == pytest.approx(100)
    assert share(*first, *["x0"] * 48) == pytest.approx(100), "the second window is not full: 98 bigrams"
    assert share(*first, "x50", *["x0"] * 49) == pytest.approx(100 * (50 + 3) / 100), "x50 x50, x50 x0 and x0 x0"
    assert share(*first[:26]) == pytest.approx(50), "what a short dialogue lacks counts as repeated"
    assert share(*first[:25], "unheard") == pytest.approx(48), "nobody else uses this word"


def test_sound_mode_pools_actions_over_cases() -> None:
    one = aie("x", *(turn("A-A-A", "a") for _ in range(3)), id=1)
    other, silent = aie("x", turn("A-B", "a"), id=2), aie("x", id=3)
    found = estimates(score_aie([one, other, silent]), clustered=True)["INQUIRY_ACC"]
    assert found.mean == pytest.approx(75) and found.n == 4
    by_case = estimates(score_aie([one, other, silent], "paper"), clustered=False)["INQUIRY_ACC"]
    assert by_case.mean == pytest.approx(100 / 3) and by_case.n == 3


@pytest.mark.parametrize(
    ("given_", "right"),
    [("A", True), (" (A). ", True), ("B", False), ("Z", None), ("The answer is A", True), ("", None), (None, None)],
)
def test_who_chooses_no_option_is_wrong(given_: str | None, right: bool | None) -> None:
    transcript = aie("x", diagnosis=given_)
    assert diagnosis_is_right(transcript) is bool(right)
    assert diagnosis_is_right(transcript, "paper") is (given_ == "A")
    assert unanswered([transcript]) == ([] if right is not None else [transcript])


@pytest.mark.parametrize("definition", ["sound", "paper"])
def test_a_case_without_a_right_option_is_unscored_in_diagnosis_and_not_wrong(definition: Any) -> None:
    without = aie("x", turn("O", "a"), options={}, answer_idx="", diagnosis=None, id=2)
    assert diagnosis_is_right(without, definition) is None and unanswered([without]) == []
    found = score_aie([aie("x", diagnosis="A"), without], definition)
    assert [sample.value for sample in found["DIAGNOSIS"]] == [100] and len(found["COVERAGE"]) == 2
    assert [row.diagnosis for row in by_length([without, aie("x", diagnosis="A")], definition)] == [1, None]


def test_a_right_letter_that_no_option_has_is_unscored_as_nobody_can_choose_it() -> None:
    of_a_list = aie("x", options=["Flu", "Gout"], answer_idx="0", diagnosis="A")
    assert diagnosis_is_right(of_a_list) is None and unanswered([of_a_list]) == []
    assert diagnosis_is_right(of_a_list, "paper") is False, "as published"


def test_silence_never_raises_the_share_of_right_diagnoses() -> None:
    said = [aie("x", diagnosis="A" if number % 2 else "B", id=number) for number in range(10)]
    silent = [aie("x", diagnosis="A" if number % 2 else "unsure", id=number) for number in range(10)]
    honest, evasive = (estimates(score_aie(each), clustered=True)["DIAGNOSIS"] for each in (said, silent))
    assert honest.mean == evasive.mean == 50 and evasive.n == 10


def test_an_identical_answer_scores_the_maximum_and_an_empty_one_the_minimum() -> None:
    for record in ("A man coughs. He smokes.", "患者咳嗽三天，伴发热。"):
        full, empty = aie(record, turn("O", "Hi", record)), aie(record)
        for definition in ("sound", "paper"):
            language = data_set_language([full])
            assert coverage(full, definition, language) == inquiry_logic(full, definition, language) == 1
            assert coverage(empty, definition, language) == inquiry_logic(empty, definition, language) == 0


STRANGE = st.text(st.characters(), max_size=30)
TURNS = st.lists(
    st.fixed_dictionaries(
        {"doctor": STRANGE, "state": st.sampled_from([*ACTIONS, "?"])}, optional={"patient": st.none() | STRANGE}
    ),
    max_size=5,
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=40), TURNS), min_size=1, max_size=4),
    st.sampled_from(["sound", "paper"]),
    st.sampled_from(["en", "zh", None]),
)
def test_no_text_raises_and_scores_lie_in_range_in_any_order_of_cases(
    cases: list[tuple[str, list[dict[str, Any]]]], definition: Definition, language: Any
) -> None:
    transcripts = [aie(record, *history, id=number) for number, (record, history) in enumerate(cases)]
    samples = score_aie(transcripts, definition, language)
    for name, values in samples.items():
        highest = float("inf") if name.startswith("AVG") else 100
        assert all(0 <= sample.value <= highest + 1e-9 for sample in values), name
    shuffled = random.Random(0).sample(transcripts, len(transcripts))
    language = language or data_set_language(transcripts)
    there = score_aie(shuffled, definition, language)
    assert {name: sorted(values) for name, values in score_aie(transcripts, definition, language).items()} == {
        name: sorted(values) for name, values in there.items()
    }
