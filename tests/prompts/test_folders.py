import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from graphs import build_clinical_workflow
from nodes.consultation.example import example_for
from prompts import PromptError, add_prompts, check_language, folders, laid_over, load_prompt, whole_languages
from prompts.complete import warm_up
from tests.support.made_up import MADE_UP, write_made_up
from tests.test_architecture import ROOT
from wardround.store.manifest import prompt_hashes

TEXT = "---\nvariables: []\n---\n# system\n{words}\n# user\n"


def folder(root: Path, words: str, place: str = "en/judges/claims.md") -> Path:
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(TEXT.format(words=words), "utf-8")
    return root


@pytest.fixture(autouse=True)
def _nothing_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_added", [])


def words(name: str = "judges/claims") -> str:
    return load_prompt(name, "en").system


def test_a_folder_laid_over_ours_holds_name_by_name_and_only_while_it_lies_there(tmp_path: Path) -> None:
    ours, other = words(), words("judges/entailment")
    with laid_over(folder(tmp_path, "Mine.")):
        assert words() == "Mine." and words("judges/entailment") == other
    assert words() == ours


def test_a_prompt_as_a_windows_editor_saves_it_is_read(tmp_path: Path) -> None:
    ours, place = load_prompt("medchain/general", "en", "diagnosis"), "en/medchain/general.md"
    [text] = [
        file.read_text("utf-8") for file in (under / place for under in folders.prompt_folders()) if file.exists()
    ]
    folder(tmp_path, "", place).joinpath(place).write_text(text, "utf-8-sig", newline="\r\n")
    with laid_over(tmp_path):
        assert load_prompt("medchain/general", "en", "diagnosis") == ours


def test_a_prompt_has_the_same_bytes_in_every_checkout(tmp_path: Path) -> None:
    """With `core.autocrlf`, as Git for Windows sets it, each had another hash: no run begun elsewhere was resumed."""
    shutil.copy(ROOT / ".gitattributes", tmp_path)
    file = tmp_path / "general.md"
    file.write_bytes(b"# system\nRefer.\n")
    for command in ("init -q", "add ."):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    file.unlink()
    subprocess.run(["git", "-c", "core.autocrlf=true", "checkout", "-q", file.name], cwd=tmp_path, check=True)
    assert file.read_bytes() == b"# system\nRefer.\n"


def test_what_a_plug_in_adds_lies_under_what_a_run_lays_over(tmp_path: Path) -> None:
    add_prompts(folder(tmp_path / "added", "Added."))
    assert words() == "Added."
    with laid_over(folder(tmp_path / "over", "Over.")):
        assert words() == "Over."


@pytest.mark.slow
def test_a_plug_in_that_speaks_a_language_more_than_ours_takes_nothing_away(tmp_path: Path) -> None:
    before = whole_languages()
    add_prompts(folder(tmp_path, "Ajouté.", "fr/mine/role.md"))
    assert whole_languages() == before and load_prompt("mine/role", "fr").system == "Ajouté."
    build_clinical_workflow("single").compile()
    warm_up()
    with pytest.raises(PromptError, match="the language 'fr' lacks"):
        check_language("fr")


@pytest.mark.slow
def test_what_a_plug_in_says_in_one_language_alone_takes_no_other_away(tmp_path: Path) -> None:
    add_prompts(folder(tmp_path, "Added.", "en/mine/role.md"))
    assert check_language("zh") == "zh"
    with laid_over(write_made_up(tmp_path / "over")):
        assert check_language(MADE_UP) == MADE_UP
    with pytest.raises(PromptError, match=r"no file prompts/zh/mine/role\.md"):
        load_prompt("mine/role", "zh")


def test_an_edited_folder_is_read_anew_when_it_is_named_again(tmp_path: Path) -> None:
    """In a notebook, a run after an edit was asked the old prompts, and its manifest had the hashes of the new ones."""
    for text in ("Mine.", "Mine, edited."):
        with laid_over(folder(tmp_path, text)):
            assert words() == text
    for text in ("Added.", "Added, edited."):
        add_prompts(folder(tmp_path, text))
        assert words() == text


def test_what_is_remembered_of_the_wordings_is_that_of_the_folder_which_lies_over_ours(tmp_path: Path) -> None:
    ours = example_for("", "en", False).text
    with laid_over(folder(tmp_path, "", "en/consultation/example.md")):
        assert example_for("", "en", False).text == ""
    assert example_for("", "en", False).text == ours != ""


async def test_runs_that_go_on_at_once_have_each_their_own_prompts(tmp_path: Path) -> None:
    async def run(name: str) -> str:
        with laid_over(folder(tmp_path / name, name)):
            await asyncio.sleep(0)
            return words()

    assert await asyncio.gather(run("first"), run("second")) == ["first", "second"]


def test_the_manifest_tells_the_prompts_that_are_found_and_not_those_laid_over(tmp_path: Path) -> None:
    ours = prompt_hashes()
    with laid_over(folder(folder(tmp_path, "Mine."), "Mon", "fr/judges/claims.md")):
        theirs = prompt_hashes()
    assert {name for name in theirs if theirs[name] != ours.get(name)} == {"en/judges/claims.md", "fr/judges/claims.md"}


def test_a_language_is_a_folder(tmp_path: Path) -> None:
    assert folders.languages() == ["en", "zh"]
    with laid_over(folder(tmp_path, "Mon", "fr/judges/claims.md")):
        assert folders.languages() == ["en", "fr", "zh"]


def test_a_folder_that_is_not_there_is_refused_when_it_is_added(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="promts: folder not found"):
        add_prompts(tmp_path / "promts")
    with pytest.raises(NotADirectoryError, match="prompts '': folder not found"):
        add_prompts("")


def test_a_prompt_that_uses_the_stage_in_one_language_alone_is_checked_by_its_own_header(tmp_path: Path) -> None:
    """It was refused with "is for a stage; name the stage", which nobody can who writes a prompt."""
    add_prompts(folder(tmp_path, "You decide.", "en/mine/role.md"))
    (tmp_path / "zh/mine").mkdir(parents=True)
    header = "variables: [pulse]\nstage_texts: [task]"
    text = TEXT.format(words="{{ task }} {{ pulse }}").replace("variables: []", header)
    (tmp_path / "zh/mine/role.md").write_text(text, "utf-8")
    with pytest.raises(PromptError, match=r"mine/role \(zh\) declares variables that are not provided: pulse"):
        check_language("zh")


def test_a_prompt_whose_opening_uses_the_stage_need_not_do_so_itself(tmp_path: Path) -> None:
    """It was refused with "prompt medchain/question is for a stage; name the stage"."""
    file = folder(tmp_path, "You decide.", "en/mine/vote.md") / "en/mine/vote.md"
    header = "opening: medchain/question\nvariables: []"
    file.write_text(TEXT.format(words="You vote.").replace("variables: []", header), "utf-8")
    add_prompts(tmp_path)
    check_language("en")
