"""What runs leave to train on."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from typer.testing import CliRunner, Result

from cases import load_cases
from cases.dialogues import Dialogue
from scoring.metrics.samples import case_of, of_epoch
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.hostile import EVERYTHING, obeyed
from tests.support.recorded_runs import graded, write_run
from wardround.analysis.hub_folder import _ROWS, _TEXTS, CARD, _share, write_folder
from wardround.analysis.training_sets import dialogues_in, preferences
from wardround.cli import app
from wardround.config.experiment import ConfigurationError
from wardround.rating.marks import Mark
from wardround.store import recorded_run
from wardround.store.provenance import write_json_lines
from wardround.store.recorded_run import find_runs
from wardround.tuning.directory import TuningDirectory

_SPLITS = ("train", "validation")
TIMES = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Easter",
    "Christmas",
    "holidays",
]
SPOKEN = [("user", "I cough."), ("assistant", "Since when?"), ("user", "For a week."), ("assistant", "Any fever?")]


def dialogue(name: str = "d1", **fields: Any) -> Dialogue:
    messages = [{"role": role, "content": content} for role, content in SPOKEN]
    return Dialogue.model_validate({"id": name, "messages": messages, "sections": {"complaint": 1}, **fields})


def written(path: Path, *dialogues: Dialogue) -> Path:
    path.write_text("".join(one.model_dump_json() + "\n" for one in dialogues), "utf-8")
    return path


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_dialogue_is_a_line_of_messages_or_a_line_for_each_turn_that_answers_the_patient(tmp_path: Path) -> None:
    source, out = written(tmp_path / "d.jsonl", dialogue()), tmp_path / "out.jsonl"
    assert export("sft", source, "-o", out).exit_code == 0
    assert [line["messages"] for line in lines(out)] == [[{"role": r, "content": c} for r, c in SPOKEN]]
    assert export("sft", source, "-o", out, "--by-turn").exit_code == 0
    assert [line["completion"][0]["content"] for line in lines(out)] == ["Since when?", "Any fever?"]
    assert [len(line["prompt"]) for line in lines(out)] == [1, 3]


@pytest.mark.slow
def test_a_draft_that_the_gates_sent_back_stands_against_the_one_that_was_kept(tmp_path: Path) -> None:
    note = "Chief complaint: Cough for 3 weeks.\nHistory: He has had a dry cough for 3 weeks. No fever."
    notes = [{"id": "a", "note": note}, {"id": "refused", "note": f"{note} Never kept."}]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in notes), "utf-8")

    days: dict[str, str] = {}

    def answer(request: ChatRequest) -> Any:
        if "section to write" not in request.text:
            return None
        title = request.text.split("The section to write: ")[1].split(". ")[0]
        if title not in days:
            days[title] = TIMES[len(days)]
        day = days[title]
        if "Never kept." in request.text:
            return {"exchanges": [{"physician": "How was it on [DAY]?", "patient": "I do not know."}]}
        asked = f"How was your dry cough on {day}?" if "has to be mended" in request.text else f"How was it on [{day}]?"
        return {"exchanges": [{"physician": asked, "patient": f"On {day} it was dry, for 3 weeks, without fever."}]}

    with FakeServer(answer=answer, models=None) as server:
        models = f"dialogue_writer=openai:m@{server.base_url}"
        CliRunner().invoke(
            app, ["reconstruct", str(tmp_path / "notes.jsonl"), "-o", str(tmp_path / "d.jsonl"), "--models", models]
        )
    kept = bool((tmp_path / "d.jsonl").read_text("utf-8"))
    done = export("preference", tmp_path / "d.jsonl.work", "-o", tmp_path / "out.jsonl")
    assert kept and done.exit_code == 0, (tmp_path / "d.failed.jsonl").read_text("utf-8")[:2000]
    pair = lines(tmp_path / "out.jsonl")[0]
    assert pair["by"] == "gates" and pair["case"] == "a"
    assert "on [" in pair["rejected"][0]["content"] and "dry cough on" in pair["chosen"][0]["content"]
    assert [message["role"] for message in pair["prompt"]] == ["system", "user"]
    assert "has to be mended" not in pair["prompt"][1]["content"]
    assert (
        export("sft", tmp_path / "d.jsonl.work", "--role", "dialogue_writer", "-o", tmp_path / "w.jsonl").exit_code == 0
    )
    imitated = lines(tmp_path / "w.jsonl")
    assert imitated and all("/a-0/" in line["id"] for line in imitated), "nothing of a note whose dialogue failed"
    assert not any("on [" in line["completion"][0]["content"] for line in imitated), "no draft that was sent back"


@pytest.mark.slow
@pytest.mark.parametrize("seats", [1, 3])
def test_a_decision_that_was_objected_to_stands_against_the_one_that_was_accepted(tmp_path: Path, seats: int) -> None:
    def answer(request: ChatRequest) -> Any:
        if request.model == "feedback":
            return {"accepted": "Plan 1" not in request.text or "Plan 2" in request.text, "reason": "No allergy asked."}
        decision = {"items": ["Medication"], "plan": f"Plan {1 + ('No allergy' in request.text)}."}
        if seats == 1:
            return {"reasoning": "so", "decision": decision}
        return {"reply": "Yes.", "decision": decision} if "reply" in (request.schema or {})["properties"] else decision

    with FakeServer(answer=answer, models=None) as server:
        asked = "treatment.general" if seats == 1 else "treatment.summarizing"
        models = [f"{asked}=openai:m@{server.base_url}", f"treatment.feedback=openai:feedback@{server.base_url}"]
        named = [part for model in models for part in ("--models", model)]
        run = ["run", "--limit", "1", "--out", str(tmp_path / "run"), "--set", f"general_agents={seats}", *named]
        done = CliRunner().invoke(app, run)
        assert done.exit_code == 0, done.output
    assert export("preference", tmp_path / "run", "-o", tmp_path / "out.jsonl").exit_code == 0
    (pair,) = lines(tmp_path / "out.jsonl")
    assert pair["by"] == "judges" and "treatment" in pair["id"]
    chosen, rejected = (json.loads(pair[part][0]["content"]) for part in ("chosen", "rejected"))
    assert chosen.keys() == rejected.keys()
    assert "Plan 2." in str(chosen) and "Plan 1." in str(rejected)


def consulted(path: Path, asked: str) -> Path:
    turns = [("patient", "I cough."), ("doctor", asked), ("patient", "For a week.")]
    told = [{"speaker": speaker, "text": text} for speaker, text in turns]
    report = {"symptoms": "s", "examinations": "", "diagnosis": ["Caries"], "basis": "", "treatment": ""}
    result = graded("dentistry-05", answers={"report": report, "dialogue": told})
    return write_run(path, [result], graph="consultation")


def test_of_two_consultations_the_one_that_most_judgements_prefer_is_chosen(tmp_path: Path) -> None:
    runs = find_runs([consulted(tmp_path / "one", "Since when?"), consulted(tmp_path / "other", "Take this.")])

    def mark(rater: str, value: int, question: str = "doctor_total") -> Mark:
        item = {"run": "one", "against": "other", "case_id": "dentistry-05", "epoch": 0}
        return Mark.model_validate({"rater": rater, "scale": "pairwise", "question": question, "value": value, **item})

    (pair,) = preferences(runs, [mark("a", 1), mark("b", 1), mark("c", -1), mark("c", -1, "logic")])
    assert pair["by"] == "raters" and [said["content"] for said in pair["prompt"]] == ["I cough."]
    assert pair["chosen"][0]["content"] == "Take this." and pair["rejected"][0]["content"] == "Since when?"
    assert not [*preferences(runs, [mark("a", 1), mark("b", -1)])]


def test_the_folder_has_a_card_that_names_its_files_licence_and_limits(tmp_path: Path) -> None:
    told = [dialogue(f"d{number}", department="Surgery", source="notes.jsonl") for number in range(40)]
    counts = write_folder(tmp_path / "hub", told, [], "cc-by-4.0", held_out=0.25)
    assert sum(count for name, count in counts.items() if name.startswith("sft/")) == 40
    assert 4 <= counts["sft/validation.jsonl"] <= 16
    _, front, text = (tmp_path / "hub" / "README.md").read_text("utf-8").split("---\n", 2)
    card = yaml.safe_load(front)
    columns = {column["name"]: column for column in card["dataset_info"][0]["features"]}
    shapes = {name: field.annotation for name, field in Dialogue.model_fields.items()}
    assert {name for name, shape in shapes.items() if "list" in str(shape) or "dict" in str(shape)} == {*_ROWS, *_TEXTS}
    assert columns.keys() == shapes.keys()
    named = [file["path"] for config in card["configs"] for file in config["data_files"]]
    assert sorted(named) == sorted(counts) and card["license"] == "cc-by-4.0" and card["language"] == ["en"]
    assert "not for care" in text and "notes.jsonl (40)" in text and "{" not in text
    sections = lines(tmp_path / "hub" / "dialogues" / "train.jsonl")[0]["sections"]
    assert sections == [{"name": "complaint", "begins": 1}]
    again = write_folder(tmp_path / "hub", told[:3], [], "cc-by-4.0", held_out=0.0)
    assert again == {"dialogues/train.jsonl": 3, "sft/train.jsonl": 3}
    assert not (tmp_path / "hub" / "sft" / "validation.jsonl").exists()


def test_a_folder_that_a_full_disk_left_half_written_may_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Path, _: Any) -> int:
        write_json_lines(file, [])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("wardround.analysis.hub_folder.write_json_lines", full)
        with pytest.raises(OSError, match="No space"):
            write_folder(tmp_path / "hub", [dialogue("d")], [], "mit", held_out=0.0)
    assert write_folder(tmp_path / "hub", [dialogue("d")], [], "mit", held_out=0.0)["sft/train.jsonl"] == 1


def test_dialogues_of_one_note_are_in_one_split_under_whatever_ids(tmp_path: Path) -> None:
    told = [dialogue(f"d{number}", note="Allergies: none." + " " * (number % 2)) for number in range(20)]
    counts = write_folder(tmp_path / "hub", told, [], "mit", held_out=0.5)
    assert sorted(counts.values()) == [20, 20]


@pytest.mark.slow
@pytest.mark.parametrize("judged", [0, 1])
def test_the_folder_loads_also_if_of_one_split_nothing_is_known(tmp_path: Path, judged: int) -> None:
    datasets = pytest.importorskip("datasets", reason="the tune extra is not installed")
    known: dict[str, Any] = {
        "department": "Surgery",
        "models": ["m"],
        "objections": [{"turn": 1, "kind": "invented", "reason": "no cough"}],
    }
    told = [dialogue("d0", **known if judged == 0 else {}), dialogue("d1", **known if judged == 1 else {})]
    shares = sorted(_share(one.id) for one in told)
    pair = {"prompt": [], "chosen": [], "rejected": [], "by": "gates", "case": "d0"}
    write_folder(tmp_path / "hub", told, [pair], "mit", held_out=sum(shares) / 2)
    for name, splits in {"dialogues": 2, "sft": 2, "preference": 1}.items():
        loaded = datasets.load_dataset(str(tmp_path / "hub"), name, cache_dir=str(tmp_path / "cache"))
        assert len(loaded) == splits, name
        if name == "dialogues":
            rows = {row["id"]: row for split in loaded.values() for row in split}
            assert rows[f"d{judged}"]["objections"] == known["objections"]
            assert rows[f"d{1 - judged}"]["department"] is None


def test_a_folder_of_somebody_elses_and_two_dialogues_of_one_id_are_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.tex").touch()
    with pytest.raises(ConfigurationError, match="contains other files"):
        write_folder(tmp_path / "theirs", [dialogue()], [], "mit", 0)
    with pytest.raises(ConfigurationError, match="'d1'"):
        write_folder(tmp_path / "new", [dialogue(), dialogue()], [], "mit", 0)


def test_each_epoch_is_a_dialogue_of_its_own_and_held_out_with_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through_all: list[object] = []
    monkeypatch.setattr(recorded_run, "models_of", lambda results: through_all.append(results) or {})
    ids = [case.id for case in load_cases()[:8]]
    said = [{"speaker": "doctor", "text": "Since when?"}, {"speaker": "patient", "text": "For a week."}]
    results = [graded(name, epoch=epoch, answers={"dialogue": said}) for epoch in range(3) for name in ids]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "epochs": 3}
    run = write_run(tmp_path / "run", results, data={"case_ids": ids}, **how)
    told = export("dataset", run, "-o", tmp_path / "hub", "--held-out", "0.5")
    assert told.exit_code == 0, told.output
    assert len(through_all) == 1  # not for each dialogue: the time would grow with the square of their number
    splits = [{line["id"] for line in lines(tmp_path / "hub" / "sft" / f"{name}.jsonl")} for name in _SPLITS]
    assert set.union(*splits) == {of_epoch(name, epoch) for epoch in range(3) for name in ids}
    assert not set.intersection(*({case_of(name) for name in split} for split in splits)) and all(splits)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("sft", "d.jsonl", "--by-turn", "--role", "doctor"), "--by-turn"),
        (("sft", "gone.jsonl"), "gone.jsonl"),
        (("preference", "d.jsonl"), "not a run directory"),
        (("preference", "run"), "no preferences in these runs"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "d.jsonl", dialogue())
    write_run(tmp_path / "run", [graded("a")])
    refused = export(*arguments, "-o", "out.jsonl")
    assert refused.exit_code == 2 and named in refused.stderr and not Path("out.jsonl").exists()


def test_where_there_is_no_dialogue_the_graphs_are_named_whose_runs_have_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wardround.analysis.training_sets.find_runs", lambda folders: [])
    with pytest.raises(ConfigurationError, match=r"has no dialogues; use a run of .*consultation.*, or what"):
        dialogues_in([tmp_path])


def test_a_reconstruction_of_which_nothing_was_kept_is_told_where_the_reasons_are(tmp_path: Path) -> None:
    failed = graded("n1", termination="model_error", error="no answer", scores={})
    run = write_run(tmp_path / "d.jsonl.work", [failed], graph="reconstruction")
    with pytest.raises(ConfigurationError, match=r"of 1 note no dialogue was kept; the file \*.failed.jsonl"):
        dialogues_in([run])


def test_names_in_dialogues_of_strangers_are_text_on_the_cards(tmp_path: Path) -> None:
    def cards(names: str) -> list[list[str]]:
        """The kinds of the parts of both cards, as Markdown is read."""
        odd = dialogue(source=names, strategy=names, models=[names], department=names)
        write_folder(tmp_path / "hub", [odd], [], names, 0.0)
        training = TuningDirectory(tmp_path)
        settings = {"method": "lora", "base": "a base"}
        made = {"versions": {"wardround": "1"}, "configuration": settings, "data": {"turns": 1}}
        training.describe([odd], made, [1.0])
        shown = [card.read_text("utf-8").split("\n---\n", 1)[1] for card in (tmp_path / "hub" / CARD, training.card)]
        assert all(names[:4] in card and obeyed(card) == [] for card in shown)
        parsed = [MarkdownIt().enable("table").parse(card) for card in shown]
        return [[part.type for token in tokens for part in (token, *(token.children or ()))] for tokens in parsed]

    hostile = f"evil [here](https://evil.example) ![x](https://evil.example/x.png)\n# Heading\n| cell | {EVERYTHING}"
    parts, plain = cards(hostile), cards("evil")
    for own, others in zip(parts, plain, strict=True):
        assert [kind for kind in own if kind != "text"] == [kind for kind in others if kind != "text"]
