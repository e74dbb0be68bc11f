import os
from pathlib import Path

import pytest

from prompts import PromptError, laid_over, load_words
from prompts.folders import OURS
from wardround.config.overlay import check_overlay


def lay(root: Path, place: str, *change: str) -> Path:
    """A folder with one of our prompts in it, changed in one place."""
    text = (OURS / "en" / place.partition("/")[2]).read_text("utf-8")
    assert not change or change[0] in text
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(text.replace(*change) if change else text, "utf-8")
    return root


def test_prompts_that_lie_where_ours_do_and_use_what_ours_do_are_taken(tmp_path: Path) -> None:
    lay(tmp_path, "en/medchain/general.md", "think for yourself", "think twice")
    lay(tmp_path, "en/medchain/stages/diagnosis.md")
    assert check_overlay(lay(tmp_path, "fr/judges/claims.md")) == str(tmp_path)


@pytest.mark.parametrize(
    ("place", "change", "reason"),
    [
        ("en/medchain/general.md", ("{{ seat", "{{ seats"), r"uses variables that it does not declare: seats"),
        ("en/medchain/general.md", ("[seat, ", "[seat, pulse, "), r"declares variables that it does not use: pulse"),
        ("en/medchain/general.md", ("# user", "# users"), r"general \(en\) lacks the section user"),
        ("en/medchain/stages/diagnosis.md", ("# task", "# tasks"), r"diagnosis \(en\) lacks the section task"),
        ("en/saps/words.toml", ("demand =", "demands ="), r"saps/words \(en\) lacks demand"),
        ("en/judges/claims.md", ("---\n# system\n", "---\n# system\n{% if %}"), r"is not a valid template"),
        ("en/judges/claims.md", ("---\n# system\n", "---\n# system\n{% include 'notes' %}"), r"it includes another"),
        ("en/judges/claims.md", ("---\n# system\n", "---\n# system\n{% include report %}"), r"it includes another"),
        ("en/judges/claims.md", ("# user", "# user\n" + "a" * 2**20), r"claims.md is not a file of 1,048,576 bytes at"),
    ],
)  # fmt: skip
def test_a_prompt_that_would_not_do_is_refused_by_file_and_fault(
    place: str, change: tuple[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(PromptError, match=rf"prompts .*: .*{reason}"):
        check_overlay(lay(tmp_path, place, *change))


def test_a_pipe_in_the_place_of_a_prompt_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    lay(tmp_path, "en/judges/claims.md").joinpath("en/judges/claims.md").unlink()
    os.mkfifo(tmp_path / "en/judges/claims.md")
    with pytest.raises(PromptError, match=r"claims.md is not a file of"):
        check_overlay(tmp_path)


@pytest.mark.parametrize("text", ["'What is to be done.' = 3", "'What is to be done.' = ' '", "What = "])
def test_descriptions_of_answers_that_would_not_do_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "zh/ask/answers.toml"
    file.parent.mkdir(parents=True)
    file.write_text("'What is to be done.' = '处理'", "utf-8")
    assert check_overlay(tmp_path) == str(tmp_path)
    file.write_text(text, "utf-8")
    with pytest.raises(PromptError, match=r"answers.toml(: 'What is to be done.': expected| cannot be read as a TOML)"):
        check_overlay(tmp_path)


def test_a_prompt_that_uses_what_its_role_does_not_give_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "en/judges/claims.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nvariables: [pulse]\n---\n# system\n# user\n{{ pulse }}\n", "utf-8")
    with pytest.raises(PromptError, match=r"claims \(en\) uses variables that it is not given: pulse"):
        check_overlay(tmp_path)


def test_a_prompt_that_lacks_a_variable_of_ours_is_told_and_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check_overlay(lay(tmp_path / "same", "en/judges/claims.md"))
    assert not caplog.messages
    copy = lay(tmp_path / "older", "en/judges/claims.md")
    (copy / "en/judges/claims.md").write_text("---\nvariables: []\n---\n# system\n# user\nJudge.\n", "utf-8")
    check_overlay(copy)
    assert caplog.messages and caplog.messages[0].startswith("prompt judges/claims (en) does not use what ours does: ")


def test_a_misplaced_prompt_is_refused_with_the_nearest_right_place(tmp_path: Path) -> None:
    file = tmp_path / "en/medchain/genral.md"
    file.parent.mkdir(parents=True)
    file.write_text("", "utf-8")
    with pytest.raises(PromptError, match=r"genral.md matches no prompt: did you mean 'medchain/gen"):
        check_overlay(tmp_path)


def test_the_folder_of_one_language_is_refused_as_such(tmp_path: Path) -> None:
    lay(tmp_path, "en/medchain/general.md")
    with pytest.raises(
        PromptError, match=r"en: medchain/general.md is in no folder of a language; expected a place such"
    ):
        check_overlay(tmp_path / "en")


def test_a_folder_that_is_not_there_or_holds_no_prompt_is_refused(tmp_path: Path) -> None:
    for folder, reason in ((tmp_path / "absent", "folder not found"), (tmp_path, "contains no prompt")):
        with pytest.raises(PromptError, match=reason):
            check_overlay(folder)


def test_wordings_of_an_older_copy_are_filled_with_ours_key_by_key_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours = load_words("consultation/words", "en")["patient"]
    own = lay(tmp_path, "en/consultation/words.toml", ours["untold"], "Search me.") / "en/consultation/words.toml"
    lines = own.read_text("utf-8").splitlines(keepends=True)
    own.write_text("".join(line for line in lines if not line.startswith("off_topic")), "utf-8")
    check_overlay(tmp_path)
    assert "en/consultation/words.toml lacks patient.off_topic; ours is used" in caplog.text
    with laid_over(tmp_path):
        assert load_words("consultation/words", "en")["patient"] == {**ours, "untold": "Search me."}
