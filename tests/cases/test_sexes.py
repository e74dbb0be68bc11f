import re

import pytest

from cases import Case, load_cases
from cases.case import AnswerKey, ExaminationRecord, PatientRecord, Provenance, Sex
from cases.sexes import SexBoundError, with_sex
from cases.vocabulary import Language

OTHER: dict[Sex | None, Sex] = {"female": "male", "male": "female", None: "female"}


def case(sex: Sex, language: Language = "en", age: float | None = 40, **record: str) -> Case:
    key = {name: record.pop(name) for name in ("diagnosis_basis", "treatment_course") if name in record}
    diagnosis = [record.pop("diagnosis")] if "diagnosis" in record else []
    seen = {"Chest Examination": record.pop("seen")} if "seen" in record else {}
    return Case(
        id="made-up",
        language=language,
        patient=PatientRecord(sex=sex, age_years=age, **{"chief_complaint": "A cough.", **record}),
        examinations=ExaminationRecord.model_validate({"physical": seen}),
        key=AnswerKey.model_validate({"diagnosis": diagnosis, **key}),
        provenance=Provenance(source="test"),
    )


@pytest.mark.parametrize(
    ("sex", "section", "told", "changed"),
    [
        ("male", "present_illness", "He fell and hurt his hand.", "She fell and hurt her hand."),
        (
            "male",
            "present_illness",
            "The pills helped him; he himself stopped.",
            "The pills helped her; she herself stopped.",
        ),
        ("male", "present_illness", "It was a fault of his, he says.", "It was a fault of hers, she says."),
        ("female", "present_illness", "It keeps her awake and her arm hurts.", "It keeps him awake and his arm hurts."),
        (
            "female",
            "present_illness",
            "Penicillin gave her hives. It suits her.",
            "Penicillin gave him hives. It suits him.",
        ),
        (
            "male",
            "present_illness",
            "His wife says that she hears him snore.",
            "Her husband says that he hears her snore.",
        ),
        (
            "female",
            "personal_history",
            "Her husband, who cooks, says he is well.",
            "His wife, who cooks, says she is well.",
        ),
        ("male", "present_illness", "His mother says she found him asleep.", "Her mother says she found her asleep."),
        ("male", "family_history", "His father died when he was 50.", "Her father died when he was 50."),
        ("male", "family_history", "A brother of his father had it.", "A brother of her father had it."),
        ("male", "chief_complaint", "My ten-month-old son has a fever.", "My ten-month-old daughter has a fever."),
        ("male", "present_illness", "His son is healthy.", "Her son is healthy."),
        ("female", "occupation", "Retired waitress", "Retired waiter"),
        ("female", "present_illness", "Temperature 38.5 °C in this woman.", "Temperature 38.5 °C in this man."),
    ],
)
def test_english_words_follow_the_patients_sex_and_nobody_elses(
    sex: Sex, section: str, told: str, changed: str
) -> None:
    patient = with_sex(case(sex, **{section: told}), OTHER[sex]).patient
    assert patient.sex == OTHER[sex]
    assert getattr(patient, section) == changed


@pytest.mark.parametrize(
    ("sex", "section", "told", "changed"),
    [
        ("male", "present_illness", "家人叫他不应，他的妻子送来。", "家人叫她不应，她的丈夫送来。"),
        ("female", "present_illness", "同事说她瘦了，丈夫也这么说。", "同事说他瘦了，妻子也这么说。"),
        ("male", "past_history", "服阿托伐他汀、他克莫司和其他药物。", "服阿托伐他汀、他克莫司和其他药物。"),
        ("female", "personal_history", "育有一女，子女体健。", "育有一女，子女体健。"),
        ("male", "chief_complaint", "我儿子发烧两天。", "我女儿发烧两天。"),
        ("male", "present_illness", "青年男性，男孩时体健。", "青年女性，女孩时体健。"),
    ],
)
def test_chinese_words_follow_the_patients_sex_and_nobody_elses(
    sex: Sex, section: str, told: str, changed: str
) -> None:
    patient = with_sex(case(sex, "zh", **{section: told}), OTHER[sex]).patient
    assert getattr(patient, section) == changed


@pytest.mark.parametrize(
    ("sex", "language", "record"),
    [
        ("female", "en", {"personal_history": "Her periods are regular."}),
        ("female", "en", {"past_history": "Two pregnancies without problems."}),
        ("female", "en", {"seen": "Uterus not palpable."}),
        ("female", "en", {"diagnosis": "Carcinoma of the right breast"}),
        ("female", "en", {"treatment_course": "Pregnancy was excluded first."}),
        ("male", "en", {"past_history": "An enlarged prostate."}),
        ("male", "en", {"seen": "Testes normal; left testis tender."}),
        ("male", "en", {"personal_history": "He lives with his wife, who is 30 weeks pregnant."}),
        ("female", "zh", {"personal_history": "月经规律。"}),
        ("female", "zh", {"past_history": "剖宫产一次。"}),
        ("male", "zh", {"present_illness": "右侧睾丸胀痛。"}),
    ],
)
def test_a_case_that_turns_on_its_sex_is_refused_with_the_words(
    sex: Sex, language: Language, record: dict[str, str]
) -> None:
    made = case(sex, language, **record)
    with pytest.raises(SexBoundError, match=rf"made-up cannot be played as {OTHER[sex]}: \w+.* mentions '"):
        with_sex(made, OTHER[sex])
    assert with_sex(made, sex) is made


@pytest.mark.parametrize(
    ("sex", "record"),
    [
        ("female", {"family_history": "Her mother had cancer of the womb."}),
        ("male", {"personal_history": "He was tired for short periods of time and drives a delivery van."}),
        ("female", {"past_history": "He is in an exam period; lactate 3.1 mmol/L."}),
    ],
)
def test_what_only_sounds_like_it_or_is_the_familys_does_not_count(sex: Sex, record: dict[str, str]) -> None:
    assert with_sex(case(sex, **record), OTHER[sex]).patient.sex == OTHER[sex]


def test_pregnancy_and_birth_in_a_childs_record_are_the_mothers() -> None:
    record = {"past_history": "Born by caesarean section, breast-fed for six months."}
    assert with_sex(case("female", age=2, **record), "male").patient.sex == "male"
    with pytest.raises(SexBoundError):
        with_sex(case("female", age=30, **record), "male")


def test_a_record_without_a_sex_gets_one() -> None:
    made = case("male", present_illness="He coughs.")
    made = made.model_copy(update={"patient": made.patient.model_copy(update={"sex": None})})
    changed = with_sex(made, "female").patient
    assert (changed.sex, changed.present_illness) == ("female", "She coughs.")


def count(word: str, text: str) -> int:
    return len(re.findall(rf"\b{word}\b", text, re.IGNORECASE))


@pytest.mark.parametrize("made", load_cases(), ids=lambda made: made.id)
def test_a_built_in_case_is_changed_all_through_or_refused(made: Case) -> None:
    sex = OTHER[made.patient.sex]
    try:
        changed = with_sex(made, sex)
    except SexBoundError:
        return
    if made.language == "en":
        before, after = (
            one.patient.present_illness + one.patient.personal_history + one.key.treatment_course
            for one in (made, changed)
        )
        own, others = {"female": ("she", "he"), "male": ("he", "she")}[sex]
        assert count(others, after) <= count(own, before)  # what is left means somebody else
        assert count(own, after) + count(others, after) == count(own, before) + count(others, before)
    assert changed.key.diagnosis == made.key.diagnosis
    assert changed.examinations.images == made.examinations.images
    digits = [[sign for sign in one.model_dump_json() if sign.isdigit()] for one in (made, changed)]
    assert digits[0] == digits[1]
    Case.model_validate(changed.model_dump())


def test_most_built_in_men_can_be_played_as_women_and_a_third_of_the_women_as_men() -> None:
    def possible(sex: Sex) -> float:
        of_the_other = [made for made in load_cases() if made.patient.sex != sex]
        done = 0
        for made in of_the_other:
            try:
                with_sex(made, sex)
                done += 1
            except SexBoundError:
                pass
        return done / len(of_the_other)

    assert possible("female") > 0.8
    assert 0.25 < possible("male") < 0.4


def test_the_reports_of_pictures_follow_the_sex_too() -> None:
    reports = {name: {"CT": "He has a clear lung."} for name in ("imaging_reports", "picture_reports")}
    made = case("male").model_copy(update={"key": AnswerKey.model_validate(reports)})
    changed = with_sex(made, "female").key
    assert changed.imaging_reports == changed.picture_reports == {"CT": "She has a clear lung."}
