import pytest

from scoring.aie.letters import chosen_letter

OPTIONS = {"A": "Cold", "B": "Bacterial pneumonia", "C": "Asthma", "D": "胃炎"}


@pytest.mark.parametrize(
    "text",
    ["B", "b", " (B). ", "B.", "B)", "[b]", "B. Bacterial pneumonia", "B Bacterial pneumonia", "Answer: B", "answer: b",
     "The answer is B.", "**B**", "My final answer is (B), bacterial pneumonia.", "Option B", "Bacterial pneumonia",
     "Diagnosis: bacterial pneumonia.", "I am not sure, but the answer is B", "B: it fits best", "答案是B", "选B项",
     "正确答案：Ｂ", "B、细菌性肺炎", "B项", "`B`", "B - Bacterial pneumonia",
     "Bacterial pneumonia (B)", "Bacterial pneumonia - B", "Bacterial pneumonia: B.",
     "Answer: bacterial pneumonia（b）。", "最可能是B选项", "【B】", "I choose B",
     "A不对，应选B", "选B不选A", "不能排除A，但答案是B",
     "B\n\nBecause of the consolidation.", "\\boxed{B}", "$B$", "<answer>B</answer>", "B is correct",
     "The answer should be B.", "B is the most likely.", "I think it's B.", "It is B", "B正确", "B选项是对的。",
     "我认为是B", "最可能的诊断是B",
     "Answer: B\n\nA 45-year-old man with a fever", "B, I think", "B. I chose it for the fever.",
     "Answer: B\nI'm sure", "【答案】B", "结论：B", "I'd go with B.", "答案：B。A不符合",
     "B. A is wrong", "The answer is B.\n\nOption A (cold) is less likely.", "Answer: B. Option C doesn't fit.",
     "Answer: B. Option A (cold) does not explain the fever, and option C is also unlikely.",
     "'B'", "「B」", "“B”", "B！", "Answer - B", "$\\boxed{\\text{B}}$", '{"answer": "B"}'],
)  # fmt: skip
def test_a_letter_is_read_however_it_is_written(text: str) -> None:
    assert chosen_letter(text, OPTIONS) == "B"


@pytest.mark.parametrize(
    "text",
    ["", None, "unsure",
     "A cold front brings it", "B or C", "B/C", "B, C", "A and B", "Z", "The answer is Z", "Pneumonia",
     "I think so", "a difficult case", "The answer is not B", "Answer: a rare disease",
     "Not sure. Option B or option C", "Bacterial pneumonia (C)", "Bacterial pneumonia - C",
     "Bacterial pneumonia, B or C",
     "最可能是B族维生素缺乏", "最可能是A型流感", "我不认为最可能是B选项",
     "不能选B", "不应该选择B选项", "别选B", "没有选B", "应排除选项B", "B选项是错的", "B项有误", "No, not option B",
     "I would not pick B", "Don't choose B", "不推荐选B", "我排除了选项B", "选B是不对的", "选B欠妥",
     "Option B must be wrong", "B\nC", "B is correctly excluded", "It is a pity", "B or\nC", "It's not B",
     "B, A", "B or A is right", "B and A", "The answer is B or A", "Option B is less likely",
     "B、C不正确", "B, C is wrong", "I would not go with B", "A、B均不对"],
)  # fmt: skip
def test_what_chooses_no_option_or_several_is_no_answer(text: str | None) -> None:
    assert chosen_letter(text, OPTIONS) is None


def test_chinese_names_and_letters_without_options_are_read() -> None:
    assert chosen_letter("胃炎。", OPTIONS) == "D" and chosen_letter("A cold", OPTIONS) == "A"
    assert chosen_letter("Hepatitis (B)", {"A": "Hepatitis (B)", "B": "Hepatitis"}) is None
    assert chosen_letter("Hepatitis (B)", {"A": "Hepatitis (B)", "B": "Hepatitis (C)"}) == "A"
    assert chosen_letter("Hepatitis - A", {"A": "Hepatitis", "B": "Hepatitis A"}) is None
    assert chosen_letter("E", {}) == "E" and chosen_letter("unsure", {}) is None


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("2", "2"), (" (2). ", "2"), ("Answer: 2", "2"), ("2. Asthma", "2"), ("Asthma", "2"), ("2. Cold", None),
     ("3", None), ("2 to 3 days", None), ("12", None)],
)  # fmt: skip
def test_options_may_be_numbered(text: str, chosen: str | None) -> None:
    assert chosen_letter(text, {"1": "Cold", "2": "Asthma"}) == chosen


NAMES = {"A": "Gout", "B": "Bacterial pneumonia", "C": "E. coli infection", "D": "B-cell lymphoma", "E": "B细胞淋巴瘤"}


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("B-cell lymphoma", "D"), ("Diagnosis: B-cell lymphoma.", "D"), ("B-Cell lymphoma, diffuse", None),
     ("B细胞淋巴瘤", "E"), ("诊断是B细胞淋巴瘤。", "E"), ("诊断：B型流感", None),
     ("最可能的诊断是B 细胞淋巴瘤", "E"), ("选B 型流感", None), ("Answer: A-V block", None),
     ("E. coli infection", "C"), ("The answer is E. coli infection.", "C"), ("E. coli infection is likely", None),
     ("B-Bacterial pneumonia", "B"), ("B - it fits best", "B"), ("E. B细胞淋巴瘤", "E"), ("C. E. coli infection", "C")],
)  # fmt: skip
def test_a_letter_that_begins_a_name_is_no_choice(text: str, chosen: str | None) -> None:
    assert chosen_letter(text, NAMES) == chosen


@pytest.mark.parametrize(
    ("text", "chosen"), [("B", "B"), ("b.", "B"), ("(C)", "C"), ("AB", "D"), ("O", "A"), ("C. B", "C")]
)
def test_of_options_named_by_letters_a_letter_is_the_options(text: str, chosen: str) -> None:
    assert chosen_letter(text, {"A": "O", "B": "A", "C": "B", "D": "AB"}) == chosen


@pytest.mark.parametrize("blanks", [" " * 300, "\n" * 300, "the " * 300])
def test_runs_of_blanks_about_an_answer_are_read_once(blanks: str) -> None:
    """Six patterns of blanks beside each other tried every way to share them: of 300, more than there is time for."""
    options = {"A": "Gout", "B": "Pseudogout"}
    assert chosen_letter(f"The answer is {blanks}:{blanks}not here", options) is None
    alone = "B" if blanks[0] == "\n" else None  # above its reasons
    assert chosen_letter(f"B{blanks}x{blanks}", options) == alone
    assert chosen_letter(f"The answer is:{blanks.replace('the ', ' ')}B", options) == "B"


def test_a_long_text_is_no_name_of_an_option() -> None:
    assert chosen_letter("x, " * 20_000, {"A": "Gout"}) is None
    assert chosen_letter("Gout (A)", {"A": "Gout", "B": "Pseudogout"}) == "A"
