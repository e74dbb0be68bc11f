"""Ages and sexes in texts with several of them, in digits and in words."""

import re

import pytest

from cases.text import demographics as module
from cases.text.demographics import Demographics, age_phrases, demographics, without_ages
from cases.vocabulary import data_file, patterns
from tests.support.slow_patterns import runs_that_meet


@pytest.mark.parametrize(
    ("text", "age"),
    [
        # The patient's own age, behind another's, an earlier one or a span of time.
        ("Father died aged 60. Patient is 40 years old", 40),
        ("Married, children aged 4 and 7. 38-year-old man.", 38),
        ("She had surgery aged 12. She is 40 years old.", 40),
        ("Menarche age 12. A 40-year-old woman", 40),
        # The patient's age, however it is stated, before another's or an earlier one.
        ("患儿，男，3个月，拒奶一天。父亲32岁。", 0.25),
        ("年龄：62；月经史：14岁初潮。", 62),
        ("男，34，发热。10岁曾患腮腺炎。", 34),
        ("患儿，3个月大，男，母亲28岁。", 0.25),
        ("Age: 45. Sex: F. She has an 8-year-old daughter.", 45),
        ("Baby boy, aged 10 days, born to a 32-year-old mother.", 0.027),
        ("A man aged 45 with a 10-year-old pacemaker.", 45),
        ("A man of 60 years received a kidney from a 40-year-old donor.", 60),
        ("A 2-week-old previously healthy, term infant, born to a 28-year-old primigravida.", 0.038),
        ("The patient's mother brought her 4-year-old son to the clinic.", 4),
        ("四十五岁的女性患者，头痛。", 45),
        ("一名六十岁的老人摔倒。", 60),
        ("Menarche aged twelve; a forty-year-old woman", 40),
        ("患者腹痛3天大便未解，45岁男性", 45),
        ("患者于2023年10月大量饮酒后腹痛，男，45岁", 45),
        ("患者父亲六十岁因肝癌去世，患者35岁", 35),
        ("其母六十岁，患者35岁", 35),
        ("已婚，女儿六岁，有一个两岁女儿。", None),
        ("患儿母亲32岁，体健。患儿男，3岁。", 3),
        ("父亲60岁去世。患者男，35岁。", 35),
        ("育有一女儿6岁，体健。患者45岁，女。", 45),
        ("女儿代诉：我父亲70岁，头晕。", 70),
        ("女儿6岁，发热3天。", 6),
        ("A man presents with a ten-day-old laceration; he is 45 years old.", 45),
        ("A 10-day-old laceration in a man who is 45 years old.", 45),
        ("A five-month-old infection in a man aged 40", 40),
        ("A ten-day-old full-term male infant of a 30-year-old woman", 0.027),
        # An adult who is brought along is no child, nor is one whom the patient brings.
        ("Patient, 70 years old, brought her 40-year-old daughter as interpreter.", 70),
        ("Patient, 40 years old, brought her 12-year-old daughter as interpreter.", 40),
        ("A 70-year-old woman brings her forty-year-old son as interpreter.", 70),
        ("A 30-year-old woman brings her seventeen-year-old son to the physician.", 17),
        # As charts write an age that is not whole, or a newborn's.
        ("患者女，19+岁，因腹痛就诊。母亲45岁。", 19),
        ("患儿，男，8+月，发热2天。", 0.667),
        ("患儿，男，8+个月，发热2天。", 0.667),
        ("患儿，男，5月余，咳嗽1月余。", 0.417),
        ("患儿，女，出生3天，皮肤黄染1天。", 0.008),
        ("患儿出生3天出现黄疸，现1岁。", 1),
        ("男，65y，胸痛。10岁曾患腮腺炎。", 65),
        ("孕8+月，腹痛，32岁。", 32),
        # Numbers in words are read whole or not at all.
        ("A neonate aged six hours with jaundice", 0),
        ("A neonate aged 6 hours with jaundice", 0),
        ("A woman aged one hundred", 100),
        ("A woman aged one hundred and two, retired", 102),
        ("An infant aged twenty six weeks", 0.498),
        ("A boy aged two and a half years", 2.5),
        ("eleven and one half years old", 11.5),
        ("A four and one-half-year-old boy", 4.5),
        ("A 2 and a half year old boy", 2.5),
        ("A 2-1/2-year-old girl", 2.5),
        ("A 2 1/2 year old girl", 2.5),
        ("A 2½-year-old girl", 2.5),
        ("two hundred and five days old", None),
        ("A thousand and one years old", None),
        ("Children three and five years old", None),
        ("Lives with one six-year-old boy", None),
        ("A man aged forty to fifty", None),
        ("She has two children, aged three and five.", None),
        ("He was aged twenty when his asthma began", None),
        ("A forty\nfive-year-old man", 45),
        ("A forty- five-year-old man", 45),
        ("A hundred-year-old woman", 100),
        ("十四、五岁男孩", None),
        ("廿五岁", None),
        ("三至五岁", None),
        ("三-五岁", None),
        ("三～五岁", None),
        ("第一岁", None),
        ("患者五十岁绝经", None),
        ("患者，女，52岁 绝经3年", 52),
        ("停经49天。月经史：13岁初潮，5/28天，50岁绝经。", None),
        ("24岁结婚，育一子", None),
        ("26岁初产妇", 26),
        ("一个姐姐五十岁不到就吃降压药", None),
        ("一岁零三个月", 1.25),
        ("1岁零3个月", 1.25),
        ("两岁三个月女孩", 2.25),
        ("我今年五十三岁了，我妈妈八十岁", 53),
        ("八十岁高龄", 80),
        ("三岁半男孩", 3.5),
    ],
)
def test_the_age_is_the_patients_and_its_number_is_read_whole(text: str, age: float | None) -> None:
    assert demographics(text).age_years == age


@pytest.mark.parametrize(
    ("text", "age"), [("Girl, 2 years and 6 months", 2.5), ("Female, 35 and pregnant", 35), ("Boy, 2 kg", None)]
)
def test_a_short_description_states_an_age_beside_and(text: str, age: float | None) -> None:
    assert demographics(text, brief=True).age_years == age


@pytest.mark.parametrize(
    ("text", "sex"),
    [
        ("A 34-year-old woman with a two-week-old ulcer of the leg.", "female"),
        ("A 34-year-old woman, who lives with a six-year-old boy, presents with fever.", "female"),
        ("A 40-year-old woman comes with her family. Aged sixty, a man in the ward saw it.", "female"),
        ("Patient, 70 years old, brought her 40-year-old son as interpreter.", "female"),
        ("女儿6岁，发热3天。", "female"),
        ("母亲代诉：儿子2岁，腹泻。", "male"),
        ("母亲带8岁的儿子来看病。", "male"),
        ("女儿6岁患哮喘。患者男，45岁。", "male"),
        ("男/72岁，胸闷。", "male"),
        ("某女，45岁，头痛。", "female"),
        ("女大学生，20岁，腹痛。", "female"),
        ("中年女性，55岁，左上腹疼痛。", "female"),
        ("70岁老年男性，咳嗽。", "male"),
        ("患者某，男友陪同，33岁。", None),
        ("多见于中年女性，本例55岁。", None),
    ],
)
def test_the_sex_is_the_word_beside_the_patients_age(text: str, sex: str) -> None:
    assert demographics(text).sex == sex


def test_a_child_of_whom_the_patient_tells_gives_the_patient_no_sex() -> None:
    assert demographics("我45岁，我儿子6岁也感冒。").sex is None


@pytest.mark.parametrize("text", ["一岁零三个月", "1岁零3个月", "两岁三个月"])
def test_an_age_is_taken_out_whole(text: str) -> None:
    assert (without_ages(text), age_phrases(text)) == ("", [text])


@pytest.mark.parametrize(
    "text",
    [
        "五十岁绝经",
        "13岁月经初潮",
        "一个姐姐五十岁不到就吃降压药",
        "腹痛3天大便未解",
        "于2023年10月大量饮酒",
        "He was aged twenty when his asthma began",
        "two hundred and five days old",
    ],
)
def test_what_is_no_present_age_stays(text: str) -> None:
    assert (without_ages(text), age_phrases(text)) == (text, [])


def test_of_what_stands_before_each_age_a_bounded_part_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Watched:
        def search(self, before: str) -> None:
            read.append(len(before))

    monkeypatch.setitem(module._PATTERNS, "not_the_patient_now", Watched())
    monkeypatch.setitem(module._PATTERNS, "earlier", Watched())
    text = "Well. " * 100 + "She is 45 years old. " * 3
    assert demographics(text) == Demographics(45, "female") and "45" not in without_ages(text)
    assert len(read) > 3 and max(read) <= 200


def test_no_pattern_of_ages_and_sexes_has_runs_that_meet() -> None:
    lists = [pattern for name in ("plain_ages", "other_ages", "sexes") for pattern in module._patterns_of(name)]
    singles = [patterns("cases", "vocabularies/demographics")[name] for name in demographic_patterns()]
    assert [each.pattern for each in lists + singles if runs_that_meet(each)] == []
    assert runs_that_meet(re.compile(r"年龄\s*[:：]?\s*\d")) and not runs_that_meet(re.compile(r"年龄\s*+[:：]?\s*+\d"))


@pytest.mark.parametrize(
    ("text", "sex"),
    [
        ("The patient brings her 3-week-old son.", None),
        ("The patient has a cough. A mother brings her 3-week-old son.", "male"),
        ("The patient's mother brings her 3-week-old son.", "male"),
    ],
)
def test_a_child_is_the_patient_unless_the_patient_brings_it_in_the_same_sentence(text: str, sex: str | None) -> None:
    assert demographics(text).sex == sex


def demographic_patterns() -> list[str]:
    return list(data_file("cases", "vocabularies/demographics")["pattern"])
