import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz, process

from llm import ModelSettings
from scoring.metrics import icd10_terms
from scoring.metrics.diagnosis_grade import name_agreement
from scoring.metrics.icd10 import (
    RULES,
    DiseaseCase,
    Matched,
    agreement,
    category,
    meet_by_candidates,
    meet_by_code,
    predicted_entities,
    standard_names,
)
from scoring.metrics.icd10_terms import TermList, TermListError, load_terms
from scoring.mvme.disease_entities import ask_for_diseases, split_by_rule, split_diseases
from scoring.mvme.transcripts import read_reports, sections
from tests.scoring.ai_hospital_files import EVALUATIONS, released
from tests.scoring.ai_hospital_files import TERMS as BEIJING

TERMS = TermList(
    [
        ("J18", "肺炎"),
        ("J18.9", "肺炎"),
        ("J47.x01", "支气管扩张伴感染"),
        ("J15.9", "细菌性肺炎"),
        ("E11", "2型糖尿病"),
        ("E11.9", "2型糖尿病不伴并发症"),
        ("I10", "高血压"),
        ("M800000/3", "恶性肿瘤"),
        ("I21.9", "Acute myocardial infarction, unspecified"),
        ("I50.9", "Heart failure, unspecified"),
        ("J18.9", "Pneumonia, unspecified organism"),
    ]
)
WORDS = st.sampled_from(["肺炎", "2型", "糖尿病", "heart", "failure", "acute", " ", ",", "(", "I", "a a b", "伴"])
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=8).map("".join))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. 肺炎\n2. 2型糖尿病", ["肺炎", "2型糖尿病"]),
        ("(1) 肺炎；（2）高血压3级（极高危）", ["肺炎", "高血压3级"]),
        ("一、肺炎 二、高血压", ["肺炎", "高血压"]),
        ("①肺炎②高血压", ["肺炎", "高血压"]),
        ("高血压3级，很高危，心功能III级", ["高血压3级"]),
        ("脑梗死合并肺炎及高血压。", ["脑梗死", "肺炎", "高血压"]),
        ("支气管扩张伴感染", ["支气管扩张伴感染"]),
        ("可能为肺炎、高血压待查", ["肺炎", "高血压"]),
        ("肺炎\n肺炎", ["肺炎"]),
        ("先天性并指", ["先天性并指"]),
        ("1. Acute appendicitis; 2. Sepsis (severe)", ["Acute appendicitis", "Sepsis"]),
        ("Hypertension, gout", ["Hypertension", "gout"]),
        ("Fracture of the radius, left, and Pneumonia", ["Fracture of the radius, left", "Pneumonia"]),
        ("Pneumonia, unspecified organism", ["Pneumonia, unspecified organism"]),
        ("- Suspected heart failure\n- possible gout", ["heart failure", "gout"]),
        ("2.5 cm nodule", ["2.5 cm nodule"]),
        ("Pneumonia due to E. coli; low vitamin D. Gout.", ["Pneumonia due to E. coli", "low vitamin D", "Gout"]),
        ("", []),
        ("1. \n(2) ?", []),
        (
            "Hepatitis (B); Diabetes (type 2); 糖尿病（2型）、肝炎(丙型)",
            ["Hepatitis B", "Diabetes type 2", "2型糖尿病", "丙型肝炎"],
        ),
        ("1) Diabetes (type 1) 2) Pneumonia (left)", ["Diabetes type 1", "Pneumonia"]),
        ("Head and neck cancer", ["Head and neck cancer"]),
        ("Acute myocardial infarction, unspecified and 肺炎", ["Acute myocardial infarction, unspecified", "肺炎"]),
    ],
)
def test_a_diagnosis_is_split_into_its_diseases(text: str, expected: list[str]) -> None:
    assert split_diseases(text, TERMS.__contains__) == expected


@pytest.mark.parametrize(
    "between", [" and ", " AND ", " & ", " with ", " plus ", " as well as ", ", ", "; ", "\n", " ａｎｄ "]
)
def test_two_english_diseases_are_two_however_they_are_joined(between: str) -> None:
    assert split_by_rule(f"Heart failure{between}pneumonia", TERMS) == ["Heart failure", "pneumonia"]


HEPATITIS = TermList(
    [
        *((code, name) for name, code in TERMS.codes.items()),
        *((f"B1{place}", f"Hepatitis {kind}") for place, kind in enumerate("ABC")),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Heart failure/pneumonia", ["Heart failure", "pneumonia"]),
        ("高血压 / 2型糖尿病", ["高血压", "2型糖尿病"]),
        ("高血压3级/极高危", ["高血压3级/极高危"]),
        ("Stage II/III heart failure", ["Stage II/III heart failure"]),
        ("Hepatitis B and C", ["Hepatitis B", "Hepatitis C"]),
        ("Pneumonia and hepatitis A, B and C (chronic)", ["Pneumonia", "hepatitis A", "hepatitis B", "hepatitis C"]),
        ("Hepatitis B/C; 高血压", ["Hepatitis B", "Hepatitis C", "高血压"]),
        ("Deficiency of vitamins A and D", ["Deficiency of vitamins A", "Deficiency of vitamins D"]),
        ("乙型和丙型肝炎", ["乙型肝炎", "丙型肝炎"]),
        ("甲、乙型肝炎，高血压", ["甲型肝炎", "乙型肝炎", "高血压"]),
        ("甲型和乙型流感", ["甲型流感", "乙型流感"]),
        ("慢性乙型和丙型肝炎病毒感染伴高血压", ["慢性乙型肝炎病毒感染", "高血压", "慢性丙型肝炎病毒感染"]),
    ],
)
def test_what_a_slash_or_one_name_holds_together_is_several_diseases(text: str, expected: list[str]) -> None:
    assert split_by_rule(text, HEPATITIS) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("高血压病", "高血压", True),
        ("pneumonia", "Pneumonia, unspecified organism", True),
        ("adult-onset diabetes", "2型糖尿病", True),
        ("糖尿病（2型）", "2型糖尿病", True),
        ("高血压", "2型糖尿病", False),
    ],
)
def test_another_name_of_a_disease_has_its_code(one: str, other: str, same: bool) -> None:
    entities = [split_by_rule(name, TERMS) for name in (one, other)]
    assert meet_by_code(*entities, TERMS) == ([same], [same])


@given(TEXTS)
def test_any_text_is_split_into_different_names(text: str) -> None:
    names = split_diseases(text, TERMS.__contains__)
    assert len(set(names)) == len(names) and all(name.strip() for name in names)


async def test_offline_the_splitter_is_the_rule_and_its_text_is_fenced() -> None:
    assert await ask_for_diseases("1. 肺炎\n2. 高血压", ModelSettings(), "zh") == ["肺炎", "高血压"]


@settings(max_examples=200)
@given(TEXTS)
@example("0000000S000IFID:0000000A:FAILURE")  # a score of 49.99999999999999
def test_candidates_are_those_of_a_full_search(text: str) -> None:
    names = [TERMS.fold(name) for name in TERMS.names]
    wanted = process.extract(TERMS.fold(text), names, scorer=fuzz.WRatio, limit=10, score_cutoff=50)
    assert [(one.name, one.score) for one in TERMS.candidates(text)] == [
        (TERMS.names[row], pytest.approx(score)) for _, score, row in wanted if score
    ]


def test_a_name_with_several_codes_has_the_last() -> None:
    assert TERMS.codes["肺炎"] == "J18.9" and len(TERMS) == 10
    assert "ＰＮＥＵＭＯＮＩＡ unspecified organism" in TERMS and "心" not in TERMS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Diagnosis: gout", ["gout"]),
        ("The most likely diagnosis is gout.", ["gout"]),
        ("Final diagnosis: probable gout; hypertension", ["gout", "hypertension"]),
        ("诊断：疑似痛风", ["痛风"]),
        ("初步诊断：1.痛风 2.高血压", ["痛风", "高血压"]),
        ("主要诊断：痛风；次要诊断：高血压", ["痛风", "高血压"]),
        ("Gout\ngout; GOUT", ["Gout"]),
        ("go\u200but", ["gout"]),
    ],
)
def test_what_announces_a_diagnosis_how_it_is_typed_and_that_it_is_told_twice_change_nothing(
    text: str, expected: list[str]
) -> None:
    assert split_diseases(text) == expected
    assert name_agreement(text, "; ".join(expected)) == 1 or len(expected) > 1


def test_the_published_rule_accepts_neighbours_and_the_sound_ones_do_not() -> None:
    given, wanted = ["细菌性肺炎", "高血压"], ["肺炎", "痛风", "高血压"]
    assert meet_by_candidates(given, wanted, TERMS) == Matched([True, True], [True, False, True])
    assert meet_by_code(given, wanted, TERMS) == Matched([True, False], [True, False, False])
    assert category("J18.9") != category("J15.9")


def test_a_reference_is_met_once() -> None:
    assert meet_by_candidates(["肺炎", "肺炎 "], ["肺炎"], TERMS) == Matched([True, False], [True])


@pytest.mark.parametrize(
    ("code", "expected"),
    [("I21.001+I22.0*", "I21"), ("E11", "E11"), ("I10xx02", "I10"), ("M800000/3", "M8000"), ("M80.001", "M80")],
)
def test_the_category_of_a_code(code: str, expected: str) -> None:
    assert category(code) == expected


def test_the_published_rule_renames_to_the_nearest_terms_once_each_and_keeps_a_name_that_has_none() -> None:
    assert standard_names(["肺炎 ", "高血压", "肺炎", "xyz"], TERMS) == ["肺炎", "高血压", "xyz"]


def test_recall_precision_and_f1_are_those_of_all_entities_together() -> None:
    cases = [DiseaseCase("a", ["肺炎"], ["肺炎", "高血压"]), DiseaseCase("b", ["痛风", "2型糖尿病"], ["2型糖尿病"])]
    found = agreement(cases, TERMS, "code")
    means = [found.recall.mean, found.precision.mean, found.f1.mean]
    assert means == pytest.approx([200 / 3, 200 / 3, 200 / 3])
    assert predicted_entities(cases).mean == 1.5 and (found.recall.n, found.precision.n, found.f1.n) == (3, 3, 6)


def test_nothing_to_divide_by_is_unscored() -> None:
    found = agreement([DiseaseCase("a", [], ["肺炎"])], TERMS, "published")
    assert found.recall.mean == 0 and found.precision.mean is None and found.f1.mean == 0
    assert agreement([], TERMS, "code").f1.mean is None


NAMES = st.lists(st.sampled_from(["肺炎", "高血压", "2型糖尿病", "细菌性肺炎", "痛风", "heart failure"]), max_size=4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES), max_size=5), st.sampled_from(RULES), st.randoms())
def test_scores_are_in_range_whatever_the_order_of_cases(
    pairs: list[tuple[list[str], list[str]]], rule: str, random: Random
) -> None:
    cases = [DiseaseCase(str(place), *pair) for place, pair in enumerate(pairs)]
    found = agreement(cases, TERMS, rule)
    random.shuffle(cases)
    assert agreement(cases, TERMS, rule) == found
    assert all(one.mean is None or 0 <= one.mean <= 100 for one in (found.recall, found.precision, found.f1))


@given(NAMES)
def test_codes_agree_with_themselves_whatever_their_order(names: list[str]) -> None:
    known = [name for name in names if TERMS.nearest(name)]
    assert all(meet_by_code(known, known[::-1], TERMS).reference)


def test_a_csv_list_is_read_with_or_without_a_heading(tmp_path: Path) -> None:
    file = tmp_path / "terms.csv"
    for heading in ("", "code,name\n"):
        file.write_text(heading + 'A00,霍乱\nJ18.9,"Pneumonia, unspecified organism"\n', "utf-8")
        assert load_terms(file).names == ["霍乱", "Pneumonia, unspecified organism"]


def test_a_list_is_read_once_until_its_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "terms.csv"
    file.write_text("A00,霍乱\n", "utf-8")
    terms = load_terms(file)
    assert load_terms(file) is terms
    file.write_text("A00,霍乱\nA01,伤寒\n", "utf-8")
    assert load_terms(file).names == ["霍乱", "伤寒"]


@pytest.mark.parametrize("text", ["A00,霍乱\nA01\n", "A00,霍乱\n,伤寒\n", "code,name\n", ""])
def test_a_faulty_list_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "terms.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(TermListError, match=r"terms\.csv: (row 2|contains no terms)"):
        load_terms(file)


def test_a_name_with_a_comma_outside_quotation_marks_is_refused_and_not_cut_there(tmp_path: Path) -> None:
    file = tmp_path / "terms.csv"
    file.write_text("code,name\nA00,霍乱,\nJ18.9,Pneumonia, unspecified organism\n", "utf-8")
    with pytest.raises(TermListError, match=r"terms\.csv: row 3: has more cells than the heading; quote a text"):
        load_terms(file)


@pytest.mark.parametrize("text", ["霍乱,A00\n伤寒,A01\n", "case,score\nx,1\n"])
def test_a_file_without_codes_in_its_first_column_is_no_list_of_terms(tmp_path: Path, text: str) -> None:
    (tmp_path / "terms.csv").write_text(text, "utf-8")
    with pytest.raises(TermListError, match=r"terms\.csv: has no ICD-10 code in its first column \(found '(伤寒|x)'"):
        load_terms(tmp_path / "terms.csv")


@pytest.mark.parametrize(
    ("name", "remedy"), [("absent.csv", "file not found"), ("absent.xls", "file not found"), ("terms.txt", "expected")]
)
def test_a_list_that_cannot_be_read_is_refused_by_name(tmp_path: Path, name: str, remedy: str) -> None:
    with pytest.raises(TermListError, match=f"{name}: {remedy}"):
        load_terms(tmp_path / name)


def test_an_xls_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "terms.xls").write_text("A00,霍乱", "utf-8")
    with pytest.raises(TermListError, match=r"terms\.xls"):
        load_terms(tmp_path / "terms.xls")


@pytest.mark.slow
def test_the_english_list_knows_common_diseases() -> None:
    terms = load_terms("icd10cm")
    assert len(terms) > 50_000
    nearest = {name: terms.nearest(name) for name in ("Gout", "essential hypertension", "type 2 diabetes mellitus")}
    assert {name: term and term.code for name, term in nearest.items()} == {
        "Gout": "M10",
        "essential hypertension": "I10",
        "type 2 diabetes mellitus": "E11",
    }


@pytest.mark.slow
def test_the_english_list_is_parsed_once_and_anew_where_what_was_kept_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path / "cache"))
    parsed = icd10_terms._icd10cm()
    (kept,) = (tmp_path / "cache").iterdir()
    with monkeypatch.context() as without_the_package:
        without_the_package.setitem(sys.modules, "simple_icd_10_cm", None)
        assert icd10_terms._icd10cm() == parsed
    for damaged in ("", "[1]", kept.read_text("utf-8")[:-9]):
        kept.write_text(damaged, "utf-8")
        assert icd10_terms._icd10cm() == parsed


@pytest.mark.slow
@released
def test_the_one_step_outputs_come_within_two_points_of_the_published_numbers_in_under_a_minute() -> None:
    start = time.process_time()
    terms = load_terms(BEIJING)
    reports = read_reports(EVALUATIONS).records

    def diseases(text: str | None) -> list[str]:
        return standard_names(split_diseases(text or "", terms.__contains__), terms)

    cases = [
        DiseaseCase(
            one.patient_id,
            diseases(sections(one.report)["diagnosis"]),
            diseases(one.reference.diagnosis if one.reference else ""),
        )
        for one in reports
    ]
    found = agreement(cases, terms, "published")
    assert time.process_time() - start < 60
    assert len(cases) == 506 and len(terms) == 37_645
    assert predicted_entities(cases).mean == pytest.approx(2.30, abs=0.1)
    assert found.recall.mean == pytest.approx(38.90, abs=2)
    assert found.precision.mean == pytest.approx(58.97, abs=2)
    assert found.f1.mean == pytest.approx(46.88, abs=2)


@pytest.mark.slow
@released
def test_the_fast_search_finds_what_the_full_one_does_in_the_real_list() -> None:
    terms = load_terms(BEIJING)
    folded = [terms.fold(name) for name in terms.names]
    reports = read_reports(EVALUATIONS).records
    names = sorted({name for one in reports for name in split_diseases(sections(one.report)["diagnosis"])})
    for name in Random(5).sample(names, 10):
        wanted = process.extract(terms.fold(name), folded, scorer=fuzz.WRatio, limit=10, score_cutoff=50)
        assert [one.name for one in terms.candidates(name)] == [terms.names[row] for _, _, row in wanted]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("高血压（已排除）", False),
        ("高血压可能性小", False),
        ("高血压家族史", False),
        ("高血压不能排除", True),
        ("高血压（1级）", True),
    ],
)
def test_a_disease_that_the_patient_does_not_have_has_no_code(name: str, right: bool) -> None:
    found = meet_by_code(split_by_rule(name, TERMS), ["高血压"], TERMS)
    assert found.predicted == [right]
