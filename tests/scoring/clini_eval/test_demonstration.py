"""What an ideal interview asks, by rule."""

from scoring.clini_eval.demonstration import NoteView, read_the_note
from scoring.clini_eval.dialogue import Dialogue


def test_by_rule_each_subject_is_asked_for_in_its_section_of_the_history() -> None:
    for language in ("en", "zh"):
        dialogue = Dialogue.model_validate({"id": "a", "language": language, "note": "x", "messages": []})
        plan = read_the_note(NoteView(dialogue=dialogue, note="", diagnosis=[])).plan
        sections = list(dict.fromkeys(point.section for point in plan))
        assert sections == [
            "general_information", "chief_complaint", "present_illness", "past_history", "review_of_systems",
            "personal_history", "social_history", "family_history",
        ]  # fmt: skip
        assert [sum(point.section == one for point in plan) for one in sections] == [1, 1, 6, 4, 1, 1, 1, 1]
