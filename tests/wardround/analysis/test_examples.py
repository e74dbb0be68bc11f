"""A consultation of a run becomes the example that another run shows its doctor."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.graphs.patients.test_medpmc import EN, a_doctor
from tests.graphs.scripting import pictures_in
from tests.support.fake_server import FakeServer
from tests.support.recorded_runs import call, graded, write_run
from wardround.cli import app


def wardround(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_file_that_is_no_picture_of_the_case_is_not_copied_into_an_example(tmp_path: Path) -> None:
    """A received run could name any file, such as a key, which was then copied beside the example."""
    (tmp_path / "key.pem").write_text("secret")
    turn = {"speaker": "examiner", "text": "Here.", "pictures": [{"item": "CT", "file": str(tmp_path / "key.pem")}]}
    data = {"case_ids": [EN.id]}
    path = write_run(tmp_path / "run", [graded(EN.id, answers={"dialogue": [turn]})], graph="consultation", data=data)
    (tmp_path / "out").mkdir()
    refused = wardround("export", "example", path, "--case-id", EN.id, "-o", tmp_path / "out" / "example.md")
    assert refused.exit_code == 2 and f"is no picture of case {EN.id}" in " ".join(refused.output.split())
    assert not [*(tmp_path / "out").iterdir()]


def test_a_turn_keeps_all_its_words_where_another_is_their_end_and_no_thought_is_shown_where_there_is_none(
    tmp_path: Path,
) -> None:
    said = {"Any fever?": "The first thought.", "And now? Any fever?": "The second thought.", "Goodbye.": ""}
    answers = [{"text": text, "reasoning": thought, "finished": False} for text, thought in said.items()]
    dialogue = [{"speaker": "doctor", "text": text} for text in said]
    path = write_run(
        tmp_path / "run",
        [graded(EN.id, answers={"dialogue": dialogue})],
        {(EN.id, 0): [call(f"doctor/turn{number}", answer=answer) for number, answer in enumerate(answers, 1)]},
        graph="consultation",
        data={"case_ids": [EN.id]},
    )
    example = tmp_path / "example.md"
    assert wardround("export", "example", path, "--case-id", EN.id, "-o", example).exit_code == 0
    assert example.read_text("utf-8").splitlines() == [
        "Thought: The first thought.",
        "Doctor: Any fever?",
        "Thought: The second thought.",
        "Doctor: And now? Any fever?",
        "Doctor: Goodbye.",
    ]


@pytest.mark.slow
def test_a_consultation_with_its_picture_and_thoughts_is_anothers_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    first, example = tmp_path / "first", tmp_path / "my example.md"
    settings = ("graph=consultation", "retrieval=false", "patient=medpmc", "max_turns=4")
    with FakeServer(answer=a_doctor) as server:
        run = ["run", "--case-id", EN.id, "--models", f"doctor=openai:fake-model@{server.base_url}"]
        run += [part for setting in settings for part in ("--set", setting)]
        wardround(*run, "--set", "doctor_mode=zero_shot_cot", "--out", first)
        assert "1 picture:" in wardround("export", "example", first, "--case-id", EN.id, "-o", example).output
        asked = len(server.requests)
        one_shot = ("--set", "doctor_mode=one_shot_cot", "--set", f"example={example}")
        assert wardround(*run, *one_shot, "--out", tmp_path / "second").exit_code == 0
        shown = next(request for request in server.requests[asked:] if request.name == "ReasonedTurn")
    text = example.read_text("utf-8")
    assert "Thought: Thoughts of mine.\nDoctor: Please have an X-ray of the tooth.\nExaminer: " in text
    assert f"![{EN.key.imaging_reports['X-ray']}](my_example-1.png)" in text
    assert len(pictures_in(shown)) == 1 and "Thought: Thoughts of mine.\nDoctor: Please have an X-ray" in shown.text
    refused = wardround("export", "example", first, "--case-id", "nobody", "-o", example)
    assert refused.exit_code == 2 and re.search(r"no finished consultation for\s+case\s+'nobody'", refused.output)
