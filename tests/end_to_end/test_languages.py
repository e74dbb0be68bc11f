"""A language is a folder of prompts: all graphs in one that nobody speaks, offline and over HTTP."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import Case, load_cases, save_cases
from cases.notes import note_of
from graphs.catalogue import GRAPHS
from prompts import PromptError, check_language, laid_over
from tests.graphs.scripting import builtin, calls
from tests.scoring.clini_eval_dialogues import interview
from tests.support.courses import SOME, WRITING, Course, everybody
from tests.support.fake_server import FakeServer
from tests.support.made_up import MADE_UP, phrases, write_made_up
from wardround.cli import app

OURS = phrases("en") | phrases("zh")
EACH_COURSE = pytest.mark.parametrize("course", [*SOME, *WRITING], ids=str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_up(tmp_path_factory.mktemp("prompts"))


@pytest.fixture
def _spoken(folder: Path) -> Iterator[None]:
    with laid_over(folder):
        yield


@pytest.fixture(scope="module")
def case() -> Case:
    """A case in that language, whose record happens to be in English."""
    return builtin("surgery-01").model_copy(update={"language": MADE_UP})


def foreign(text: str, case: Case) -> set[str]:
    """The words of our languages in a text that are not the case's own."""
    own = case.model_dump_json() + note_of(case).text
    return {phrase for phrase in OURS if phrase in text and phrase not in own}


@pytest.mark.slow
@EACH_COURSE
@pytest.mark.usefixtures("_spoken")
def test_offline_every_word_of_the_play_is_of_the_folder(course: Course, case: Case, folder: Path) -> None:
    result = course.run(case)
    made = calls(result)
    assert made and {call.prompt.partition("/")[0] for call in made if call.prompt} == {MADE_UP}
    told = [*(part for call in made for part in [*(call.messages or []), call.answer]), _spoken_words(result)]
    said = "\n".join(dict.fromkeys(json.dumps(part, ensure_ascii=False, default=str) for part in told))
    said = said.replace("\\n", "\n").replace('\\"', '"')
    assert foreign(said, case) == set()
    assert len([*islice((phrase for phrase in phrases(MADE_UP, folder) if phrase in said), 5)]) == 5


@pytest.mark.slow
@EACH_COURSE
@pytest.mark.usefixtures("_spoken")
def test_over_a_server_every_prompt_is_of_the_folder(course: Course, case: Case, folder: Path) -> None:
    with FakeServer() as server:
        models = everybody(server, **({"moderator": "offline"} if course.complexity else {}))
        course.run(case, models=models, max_turns=4)
    words = phrases(MADE_UP, folder)
    assert server.requests
    assert all(any(phrase in request.text for phrase in words) for request in server.requests)
    lines = dict.fromkeys(line for request in server.requests for line in request.text.split("\n"))  # most recur
    assert foreign("\n".join(lines), case) == set()


@pytest.mark.slow
@pytest.mark.parametrize("over_http", [False, True])
@pytest.mark.usefixtures("_spoken")
def test_those_who_judge_an_interview_are_asked_in_the_words_of_the_folder(over_http: bool, folder: Path) -> None:
    dialogue = interview("en", good=True).model_copy(update={"language": MADE_UP})
    graph: Any = GRAPHS["clini_eval"]
    with FakeServer() as server:
        models = {"default": f"openai:any@{server.base_url}" if over_http else "offline"}
        made = calls(graph.invoke({"dialogue": dialogue}, context={"models": models}))
    own = dialogue.model_dump_json().replace("\\n", "\n")
    assert len(made) == 4
    for call in made:
        asked = "\n".join(message["content"] for message in call.messages)
        assert {phrase for phrase in OURS if phrase in asked and phrase not in own} == set()
        assert any(phrase in asked for phrase in phrases(MADE_UP, folder))


def _spoken_words(result: dict[str, Any]) -> list[str]:
    if dialogue := getattr(result.get("dialogue"), "messages", None):
        return [message.content for message in dialogue]
    return [turn.text for turn in result.get("dialogue") or []]


@pytest.mark.slow
def test_a_language_that_lacks_a_file_a_section_or_a_key_is_refused_by_its_name(tmp_path: Path) -> None:
    folder = write_made_up(tmp_path)
    with laid_over(folder):
        assert check_language(MADE_UP) == MADE_UP
    for file, fault, message in (
        ("saps/words.toml", None, r"'xx' lacks saps/words.toml"),
        ("medchain/patient.md", ("# user", "# nobody"), r"medchain/patient \(xx\) lacks the section user"),
        ("saps/words.toml", ("demand", "demands"), r"saps/words \(xx\) lacks demand"),
        (
            "medchain/words.toml",
            ("{}", "{tests}"),
            r"medchain/words \(xx\).* placeholders that are not filled: \{tests\}",
        ),
        ("medchain/words.toml", ("{}", ""), r"medchain/words \(xx\): .* has no \{\}, where the English one says what"),
    ):
        broken = write_made_up(tmp_path / f"{file}{message}".replace("/", "_").replace("\\", "")) / MADE_UP / file
        if fault is None:
            broken.unlink()
        else:
            broken.write_text(broken.read_text("utf-8").replace(*fault), "utf-8")
        with laid_over(broken.parents[len(Path(file).parts)]), pytest.raises(PromptError, match=message):
            check_language(MADE_UP)


@pytest.mark.slow
def test_a_run_is_refused_before_it_begins_if_a_language_is_not_whole(folder: Path, tmp_path: Path) -> None:
    plain = next(case for case in load_cases() if not case.examinations.images)
    save_cases([plain.model_copy(update={"language": MADE_UP})], tmp_path / "cases.jsonl")
    cases, out = str(tmp_path / "cases.jsonl"), str(tmp_path / "run")
    command = ["run", "--cases", cases, "--set", "retrieval=false", "--out", out]
    refused = CliRunner().invoke(app, command)
    assert (
        refused.exit_code == 2
        and "there are no prompts in the language 'xx'; available: en, zh; name a folder" in refused.output
    )
    (write_made_up(tmp_path / "part") / MADE_UP / "saps" / "words.toml").unlink()
    refused = CliRunner().invoke(app, [*command, "--prompts", str(tmp_path / "part")])
    assert refused.exit_code == 2 and "lacks saps/words.toml" in refused.output
    taken = CliRunner().invoke(app, [*command, "--prompts", str(folder), "--set", f"language={MADE_UP}"])
    assert taken.exit_code == 0, taken.output
    for reading in (["tables", "--table", "scores", out], ["report", out], ["score", "medchain", out]):
        read = CliRunner().invoke(app, reading)
        assert read.exit_code == 0 and "No floors" not in read.output, read.output


@pytest.mark.slow
def test_commands_read_a_consultation_in_its_own_words_and_say_what_rules_do_not_read(
    folder: Path, tmp_path: Path
) -> None:
    plain = next(case for case in load_cases() if not case.examinations.images)
    save_cases([plain.model_copy(update={"language": MADE_UP})], tmp_path / "cases.jsonl")
    cases, run, terms = (str(tmp_path / name) for name in ("cases.jsonl", "run", "terms.csv"))
    Path(terms).write_text("I21.9;Infarto agudo de miocardio\n", "utf-8")

    def told(*command: str) -> str:
        done = CliRunner().invoke(app, [*command, "--prompts", str(folder)])
        assert done.exit_code == 0, (command, done.output)
        return " ".join(done.output.split())

    unread = f"Rules read English and Chinese; in {MADE_UP!r} they recognise no denial"
    options = ["--set", "graph=consultation", "--set", "max_turns=3", "--set", "retrieval=false"]
    assert unread in told("run", "--cases", cases, *options, "--out", run)
    assert unread in told("tables", run, "--table", "scores")
    for command in ("score mvme RUN", "score replies RUN", "score clini-eval RUN"):
        assert unread in told(*command.replace("RUN", run).split()), command
    for command in ("report RUN", "floors RUN"):
        told(*command.replace("RUN", run).split())
    told("score", "icd10", run, "--terms", terms)
    for command in (["score", "icd10", run], ["tables", run, "--table", "icd10"]):
        refused = CliRunner().invoke(app, [*command, "--prompts", str(folder)])
        assert refused.exit_code == 2 and f"are {MADE_UP}" in " ".join(refused.output.split())


def test_a_language_without_a_folder_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(PromptError, match="no prompts in the language 'tlh'; available: en, zh"):
        check_language("tlh")
