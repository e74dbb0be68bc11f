from typing import Any

import pytest

from cases.vocabulary import data_file
from nodes.offline.chart_signs import matches
from nodes.offline.diagnoses import contradicts, is_founded, proved_by_tests
from nodes.state.chart import Chart, Presentation
from nodes.workflow.stages import STAGES, read_chart
from retrieval import RememberedCase


def chart(language: Any, result: str) -> Chart:
    door = Presentation(language=language, chief_complaint={"en": "Double vision.", "zh": "看东西重影。"}[language])
    return read_chart({"presentation": door, "results": {"Blood Test": result}}, "treatment", None)


@pytest.mark.parametrize(
    ("language", "result", "similar", "diagnosed"),
    [
        ("en", "Acetylcholine receptor antibodies: Present (elevated).", [], ["Myasthenia gravis"]),
        ("en", "Acetylcholine receptor antibodies: Present.", ["Thymoma"], ["Thymoma"]),
        ("en", "HRP-2 antigen positive.", [], ["Malaria"]),
        ("en", "Tissue transglutaminase antibodies positive.", [], ["Celiac disease"]),
        ("zh", "乙酰胆碱受体抗体阳性。", [], ["重症肌无力"]),
        ("zh", "抗线粒体抗体M2阳性。", [], ["原发性胆汁性胆管炎"]),
        ("zh", "血清AMA-M2阳性。", [], ["原发性胆汁性胆管炎"]),
        ("zh", "抗BP180抗体阳性。", [], ["大疱性类天疱疮"]),
        ("en", "Influenza A antigen positive.", [], ["Influenza"]),
        ("zh", "甲型流感病毒抗原阳性。", [], ["流行性感冒"]),
        ("en", "HBsAg positive, IgM anti-HBc positive.", [], ["Acute hepatitis B"]),
        ("en", "Hepatitis B core antibody IgM: positive.", ["Hepatitis B"], ["Hepatitis B"]),
        ("zh", "乙肝表面抗原阳性，抗-HBc IgM阳性。", [], ["急性乙型肝炎"]),
        ("en", "Varicella-zoster virus culture positive.", [], ["Varicella-zoster virus infection"]),
        ("en", "PCR for VZV: positive.", ["Herpes zoster"], ["Herpes zoster"]),
        ("zh", "水痘-带状疱疹病毒核酸阳性。", [], ["水痘-带状疱疹病毒感染"]),
    ],
)
def test_a_test_that_proves_a_disease_names_it_where_no_similar_case_does(
    language: Any, result: str, similar: list[str], diagnosed: list[str]
) -> None:
    assert STAGES["diagnosis"].without_model(similar, chart(language, result), ())["names"] == diagnosed


@pytest.mark.parametrize(
    ("language", "result"),
    [
        ("en", "Acetylcholine receptor antibodies negative."),
        ("en", "HRP-2 antigen not detected."),
        ("zh", "乙酰胆碱受体抗体阴性。"),
        ("zh", "血清AQP4抗体、MOG抗体均阴性。"),
        ("en", "Monospot not done, CMV IgM positive."),
        ("en", "Anti-GBM antibody pending, ANCA positive."),
        ("en", "Philadelphia chromosome not present."),
        ("en", "Reed-Sternberg cells are not present; CD20 positive."),
        ("en", "Heterophile antibodies were sent, throat swab positive for streptococcus."),
        ("en", "Parainfluenza PCR positive."),
        ("en", "BP-180 mmHg, Babinski sign positive."),
        ("en", "Muscle biopsy: endomysial inflammation present."),
        ("zh", "BP180mmHg，巴宾斯基征阳性。"),
        ("zh", "副流感病毒核酸阳性。"),
        ("zh", "抗SMA抗体阳性。"),
        ("zh", "嗜异性抗体未做，巨细胞病毒IgM阳性。"),
        ("en", "HBsAg positive, IgM anti-HBc negative."),
        ("en", "Anti-HBc IgG positive, VZV IgG positive."),
    ],
)
def test_what_no_positive_test_of_it_shows_is_not_named(language: Any, result: str) -> None:
    (name,) = STAGES["diagnosis"].without_model([], chart(language, result), ())["names"]
    assert name.startswith({"en": "Undetermined", "zh": "诊断待定"}[language])


@pytest.mark.parametrize(
    ("language", "result"),
    [
        ("en", "Anti-dsDNA antibodies: not present."),
        ("en", "Positive ANA and anti-dsDNA negative."),
        ("en", "Anti-dsDNA borderline positive, weakly positive before."),
        ("en", "Monospot positive last year, negative now."),
        ("en", "Influenza antigen of her husband positive."),
        ("en", "Influenza test pending, strep test positive."),
        ("en", "Parainfluenza PCR positive."),
        ("en", "Malaria smear: no parasites seen."),
        ("en", "Screening for tissue transglutaminase antibodies positive; biopsy normal."),
        ("en", "Family history: sister with positive anti-dsDNA."),
        ("zh", "既往抗双链DNA抗体阳性。"),
        ("zh", "抗双链DNA抗体弱阳性。"),
        ("zh", "其妹抗线粒体抗体阳性。"),
        ("zh", "抗SMA抗体阳性。"),
        ("zh", "副流感病毒抗原阳性。"),
        ("zh", "流感病毒抗原（-），支原体抗体阳性。"),
        ("zh", "乙酰胆碱受体抗体待回报，肌酶升高。"),
    ],
)
def test_what_is_past_doubtful_or_of_somebody_or_something_else_proves_nothing(language: Any, result: str) -> None:
    assert proved_by_tests(chart(language, result)) == []


@pytest.mark.parametrize(
    ("language", "result", "disease"),
    [
        ("en", "ANA negative, anti-dsDNA positive.", "Systemic lupus erythematosus"),
        ("en", "Dengue IgM and NS1 antigen positive.", "Dengue fever"),
        ("zh", "抗双链DNA抗体（+），抗SSA（-）。", "系统性红斑狼疮"),
        ("zh", "血涂片查疟原虫阴性，登革热NS1抗原阳性。", "登革热"),
    ],
)
def test_another_clause_takes_nothing_from_a_positive_test(language: Any, result: str, disease: str) -> None:
    assert proved_by_tests(chart(language, result)) == [disease]


def test_what_a_test_names_is_what_it_proves() -> None:
    rows = [row for row in data_file("nodes.offline", "causes")["test"] if "names" in row]
    assert rows and all(matches(row["proves"], name) for row in rows for name in row["names"].values())


@pytest.mark.parametrize(
    ("language", "result", "name", "is_out"),
    [
        ("en", "Ducts are expanded by cells with large irregular nuclei.", "Fibroadenoma of the right breast", True),
        ("en", "Glands of atypical cells.", "Breast cyst", True),
        ("en", "Glands of atypical cells.", "Adenocarcinoma of the lung", False),
        ("en", "Glands of atypical cells.", "Atypical hyperplasia", False),
        ("en", "No atypical cells.", "Fibroadenoma of the right breast", False),
        ("en", "Cytology is negative for malignant cells.", "Breast cyst", False),
        ("en", "Malignant cells: not seen.", "Breast cyst", False),
        ("en", "Malignant cells were absent.", "Lipoma of the back", False),
        ("en", "Atypical squamous cells of undetermined significance.", "Ovarian cyst", False),
        ("en", "Atypical glands.", "Atypical ductal hyperplasia", False),
        ("en", "Malignant cells.", "Human papillomavirus infection", False),
        ("zh", "见异型细胞及癌巢。", "乳腺纤维腺瘤", True),
        ("zh", "见异型细胞及癌巢。", "乳腺癌", False),
        ("zh", "未见异型细胞。", "乳腺纤维腺瘤", False),
        ("zh", "癌细胞阴性。", "乳腺囊肿", False),
        ("zh", "恶性细胞：未找到。", "乳腺囊肿", False),
        ("zh", "核大小一致无异型。", "乳腺纤维腺瘤", False),
        ("zh", "见异型腺体。", "子宫内膜不典型增生", False),
        ("zh", "见异型细胞。", "骨髓增生异常综合征", False),
    ],
)
def test_malignant_cells_contradict_a_benign_growth(language: Any, result: str, name: str, is_out: bool) -> None:
    """Two of three interns outvoted the carcinoma in situ that the biopsy showed by a fibroadenoma."""
    case = RememberedCase(id="near", verified=True, language=language, diagnosis=[name])
    assert contradicts(case, chart(language, result)) is is_out


@pytest.mark.parametrize(
    ("language", "complaint", "name"),
    [("en", "She cries and is afraid.", "Separation anxiety disorder"), ("zh", "孩子哭闹、害怕。", "分离性焦虑障碍")],
)
@pytest.mark.parametrize(("age_years", "founded"), [(0.3, False), (6.0, True), (None, True)])
def test_no_infant_has_a_disorder_of_the_mind(
    language: Any, complaint: str, name: str, age_years: float | None, founded: bool
) -> None:
    """A child of four months that cried for five hours was to have psychotherapy."""
    door = Presentation(language=language, chief_complaint=complaint, age_years=age_years)
    assert is_founded(name, read_chart({"presentation": door}, "diagnosis", None)) is founded


@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "Depressed skull fracture"), ("en", "Neonatal respiratory depression"), ("zh", "精神运动发育迟缓")],
)
def test_what_only_sounds_like_a_disorder_of_the_mind_may_be_an_infants(language: Any, name: str) -> None:
    told = {"en": "She fell from the table a day ago.", "zh": "一岁还不会坐。"}[language]
    door = Presentation(language=language, chief_complaint=told, age_years=1.0)
    assert is_founded(name, read_chart({"presentation": door}, "diagnosis", None))
