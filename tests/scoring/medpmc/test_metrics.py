import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.medpmc.information import information_by_round
from scoring.medpmc.metrics import LEFT_OUT, METRICS, doctor_length, examination_share, imaging_pair, score_medpmc
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.samples import Definition, Sample
from tests.scoring.metrics.test_text_overlap import scorer
from tests.scoring.transcripts_of_ours import IMAGES, MEDPMC_HISTORY, REPORT, TEXT, medpmc, turn


def bare(text: str) -> str:
    return re.sub(r"[^\w\s]", "", text)


def values(samples: list[Sample]) -> list[float]:
    return [sample.value for sample in samples]


@pytest.mark.parametrize("name", ["rouge1", "rougeL"])
def test_paper_mode_is_the_published_computation(name: Any) -> None:
    samples = score_medpmc([medpmc(*MEDPMC_HISTORY)], name, "paper")

    def recall(reference: str, text: str, kind: str = name) -> float:
        return 100 * float(scorer().score(reference, text)[kind].recall)

    history = " ".join(bare(TEXT[part]) for part in ("Chief Complaint", "Present Illness", "Past Medical History"))
    next_turn = MEDPMC_HISTORY[3]["doctor"]
    imaging = {
        "rouge1": recall(bare(IMAGES["00001.jpg"]), bare(next_turn)),
        "rougeL": recall("".join(map(bare, IMAGES.values())), bare(REPORT)),
    }
    assert values(samples["Inquiry"]) == pytest.approx([recall(history, REPORT)])
    assert values(samples["MMA"]) == pytest.approx([imaging[name]])
    assert values(samples["Diagnosis"]) == pytest.approx([recall(TEXT["Diagnosis"], REPORT, "rougeL")])
    assert values(samples["Treatment"]) == pytest.approx([recall(TEXT["Treatment"], REPORT)])
    # "Hello, tell me your  discomfort." has an empty word between its two spaces.
    assert values(samples["Lens"]) == pytest.approx([(6 + 2 + 6 + 8) / 4])
    assert values(samples["Turns"]) == [5]


def test_table_8_takes_the_first_message_with_an_image_and_the_very_next_turn() -> None:
    first = turn("B-A-A", "CT?", "<\\image00002.jpg>")
    assert imaging_pair(medpmc(first, *MEDPMC_HISTORY), "paper", 8) == (
        "Gallstones 12 cm",
        "Hello tell me your  discomfort",
    )


@pytest.mark.parametrize(
    ("history", "table_8", "table_9"),
    [
        ([], ("image", ""), ("image", "")),
        ([turn("B-A-A", "CT?", "<\\image00001.jpg>")], None, "all"),
        ([turn("B-A-A", "CT?", "<\\image9.jpg>"), turn("D", "Bye")], None, "all"),
        ([turn("D", "CT?", "<\\image00001.jpg>"), turn("D", "Bye")], ("image", ""), ("image", "")),
    ],
)
def test_no_image_is_0_and_an_image_without_an_answer_or_report_drops_the_case(
    history: list[dict[str, str]], table_8: object, table_9: object
) -> None:
    case = medpmc(*history)
    everything = ("Free air in the abdominal cavityGallstones 12 cm", bare(REPORT))
    assert imaging_pair(case, "paper", 8) == table_8
    assert imaging_pair(case, "paper", 9) == (everything if table_9 == "all" else table_9)


def test_table_9_leaves_one_of_thirty_cases_out_of_mma() -> None:
    cases = [medpmc(*MEDPMC_HISTORY, id=number) for number in range(30)]
    counted = [sample.case for sample in score_medpmc(cases, "rougeL", "paper")["MMA"]]
    assert counted == [str(number) for number in range(30) if number != LEFT_OUT]
    assert len(score_medpmc(cases[:29], "rougeL", "paper")["MMA"]) == 29
    for name, definition in (("rouge1", "paper"), ("rougeL", "sound")):
        assert len(score_medpmc(cases, name, definition)["MMA"]) == 30  # type: ignore[arg-type]


def test_sound_mma_reads_all_images_in_what_is_said_after_the_first() -> None:
    reference, said = imaging_pair(medpmc(*MEDPMC_HISTORY)) or ("", "")
    assert reference == "Free air in the abdominal cavity. Gallstones, 1.2 cm."
    assert said == f"I see free air, the cavity is perforated. You need surgery now. {REPORT}"
    assert imaging_pair(medpmc()) == (reference, "")
    assert imaging_pair(medpmc(*MEDPMC_HISTORY, Image={})) is None


def test_a_reading_may_be_looked_for_in_the_turn_right_after_a_picture_alone() -> None:
    shown, later = turn("B-A-A", "CT?", "<\\image00001.jpg>"), turn("A-B", "A tumour.", "Really?")
    case = medpmc(shown, turn("A-B", "I see a stone.", "Oh."), later, diagnosis_self="A tumour.")
    reference, said = imaging_pair(case, window="next") or ("", "")
    assert said == "I see a stone." and reference == (imaging_pair(case) or ("",))[0]
    assert imaging_pair(medpmc(later, shown), window="next") == (reference, ""), "nothing was said after it"


def test_examination_compares_whole_words_and_any_punctuation() -> None:
    # WBC 2.46*10^9/L | free air | Upper abdominal CT
    assert examination_share(medpmc()) == pytest.approx(1 / 3)
    assert examination_share(medpmc(diagnosis_self="wbc: 2.46 * 10 ^ 9/l; free-air; UPPER abdominal CT")) == 1
    assert examination_share(medpmc(diagnosis_self="free airway")) == 0
    assert examination_share(medpmc(text={"Examinations": "..."})) is None
    assert examination_share(medpmc(text={"Examinations": "肝囊肿。"}, diagnosis_self="提示肝囊肿可能")) == 1


def test_info_is_the_mean_over_what_the_patient_meant() -> None:
    record = " ".join(
        TEXT[part]
        for part in (
            "Patient Information",
            "Chief Complaint",
            "Present Illness",
            "Past Medical History",
            "Examinations",
        )
    )
    replies = ["Upper abdominal pain.", "Vomiting 6 times.", MEDPMC_HISTORY[2]["patient"], "Please be more specific."]
    expected = sum(scorer().score(record, reply)["rouge1"].recall for reply in replies) / 4
    assert values(score_medpmc([medpmc(*MEDPMC_HISTORY)])["Info"]) == pytest.approx([100 * expected])


def test_lengths_are_of_the_turns_before_the_end() -> None:
    assert doctor_length(medpmc(*MEDPMC_HISTORY)) == pytest.approx((5 + 2 + 6 + 8) / 4)
    assert doctor_length(medpmc(turn("0", "你好， 请坐", "x"))) == 5
    assert doctor_length(medpmc(turn("D", "Bye"))) is None


def test_an_identical_report_scores_the_maximum_and_an_empty_one_the_minimum() -> None:
    everything = " ".join([*TEXT.values(), *IMAGES.values()])
    shown = turn("B-A-A", "CT?", "<\\image00001.jpg>")
    for definition in ("sound", "paper"):
        for report, score in ((everything, 100), ("", 0)):
            samples = score_medpmc([medpmc(shown, diagnosis_self=report)], "rougeL", definition)  # type: ignore[arg-type]
            if report and definition == "paper":  # punctuation is removed from the reference alone, reports are joined
                samples = {name: samples[name] for name in ("Diagnosis", "Treatment")}
            for name in samples.keys() & {"Inquiry", "Examination", "MMA", "Diagnosis", "Treatment"}:
                assert values(samples[name]) == pytest.approx([score]), (definition, name)


STRANGE = st.text(st.characters(), max_size=30)
CASES = st.builds(
    lambda sections, history, report, image: medpmc(
        *history, text=dict(zip(TEXT, sections, strict=True)), diagnosis_self=report, Image={"a": image}
    ),
    st.lists(STRANGE, min_size=len(TEXT), max_size=len(TEXT)),
    st.lists(
        st.fixed_dictionaries(
            {"doctor": STRANGE, "state": st.sampled_from(["0", "A-A-A", "D"])},
            optional={"patient": st.sampled_from(["<\\imagea>", "x"]) | STRANGE, "standard_patient": STRANGE},
        ),
        max_size=4,
    ),
    STRANGE,
    STRANGE,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(CASES, max_size=3), st.sampled_from(["rouge1", "rougeL"]), st.sampled_from(["sound", "paper"]))
def test_no_text_raises_and_scores_lie_in_range_in_any_order_of_cases(
    cases: list[MedPmcTranscript], name: Any, definition: Definition
) -> None:
    cases = [case.model_copy(update={"id": str(number)}) for number, case in enumerate(cases)]
    samples = score_medpmc(cases, name, definition)
    assert tuple(samples) == METRICS
    for column in METRICS[:6]:
        assert all(0 <= value <= 100 + 1e-9 for value in values(samples[column]))
    shuffled = score_medpmc(random.Random(0).sample(cases, len(cases)), name, definition)
    assert {column: sorted(found) for column, found in samples.items()} == {
        column: sorted(found) for column, found in shuffled.items()
    }
    information_by_round(cases)


@pytest.mark.parametrize("definition", ["sound", "paper"])
def test_where_no_picture_could_be_shown_there_is_no_analysis_to_score(definition: Definition) -> None:
    shown = turn("B-A-A", "CT?", "No picture is available.")
    assert values(score_medpmc([medpmc(shown)], definition=definition)["MMA"]) == [0]
    assert values(score_medpmc([medpmc(shown, withheld=True)], definition=definition)["MMA"]) == []
