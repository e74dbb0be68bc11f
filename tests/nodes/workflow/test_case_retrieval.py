from typing import Any

import pytest

from cases import load_cases
from cases.vocabulary import Language
from graphs import one_step
from nodes.workflow.case_retrieval import WordsView, cut_to_symptoms
from prompts import load_words

GRAPH: Any = one_step


@pytest.mark.parametrize(("wanted", "asked"), [("any", {None}), ("case", {"zh"})])
def test_the_setting_says_of_which_language_cases_are_recalled(
    wanted: str, asked: set[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    languages: set[str | None] = set()

    class Empty:
        def recall(self, *_: Any, language: str | None, **__: Any) -> list[Any]:
            languages.add(language)
            return []

    def memory_of(context: Any) -> Any:
        return Empty()

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", memory_of)
    case = next(case for case in load_cases() if case.language == "zh" and case.split == "test")
    GRAPH.invoke({"case": case}, context={"recall_language": wanted, "language": "en"})
    assert languages == asked


@pytest.mark.parametrize(("language", "complaint"), [("en", "Painless ulcer for 2 weeks"), ("zh", "停经48天，下腹痛")])
def test_offline_no_answer_that_tells_nothing_becomes_part_of_what_similar_cases_are_found_by(
    language: Language, complaint: str
) -> None:
    empty = load_words("consultation/words", language)["patient"].values()
    view = WordsView(" ".join([f"{complaint}.", *empty]), language)
    assert cut_to_symptoms(view).symptoms == complaint
