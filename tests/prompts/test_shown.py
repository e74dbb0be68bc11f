from pathlib import Path

from prompts import laid_over
from prompts.shown import shown_once


def test_a_text_is_made_once_for_the_same_objects_and_anew_for_equal_ones_another_key_or_other_prompts(
    tmp_path: Path,
) -> None:
    made: list[str] = []

    def words() -> str:
        made.append(str(len(made)))
        return made[-1]

    one, equal = [["told"]], [["told"]]
    assert [shown_once(one, "en", words), shown_once(one, "en", words)] == ["0", "0"]
    assert shown_once(equal, "en", words) == "1"
    assert shown_once(one, "zh", words) == "2"
    (tmp_path / "en").mkdir()
    with laid_over(tmp_path):
        assert shown_once(one, "en", words) == "3"
    assert shown_once(one, "en", words) == "0"


def test_what_was_told_of_long_ago_is_made_anew() -> None:
    one = [["told"]]
    assert shown_once(one, "en", lambda: "first") == "first"
    for number in range(300):
        shown_once([[number]], "en", str)
    assert shown_once(one, "en", lambda: "again") == "again"
