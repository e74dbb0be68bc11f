"""Write dialogues as a data set folder for the Hugging Face Hub: JSON Lines by configuration and split, and a card."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from cases.dialogues import Dialogue
from cases.grouping import repetitions
from scoring.clini_eval.data_sheet import RESEARCH_ONLY, DataSheet, data_sheet
from scoring.metrics.samples import case_of
from wardround.analysis.training_sets import Line, interviews
from wardround.config.experiment import ConfigurationError
from wardround.printing import counted, in_markdown
from wardround.store.provenance import versions, write_json_lines, write_whole

CARD = "README.md"
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
# The columns of a dialogue that are not plain text. The card must declare them: types guessed from a split in which
# every department or objection is missing would not fit the other split, and the folder would not load.
_TEXTS = ("diseases", "models")
_ROWS = {
    "messages": {"role": "string", "content": "string"},
    "sections": {"name": "string", "begins": "int64"},
    "objections": {"turn": "int64", "kind": "string", "reason": "string"},
}


def write_folder(
    folder: Path, dialogues: Sequence[Dialogue], preferred: Sequence[Line], license: str, held_out: float
) -> dict[str, int]:
    """Write the folder, and return the number of lines of each file.

    Args:
        folder: new or empty, or written by this function before.
        dialogues: with unique ids.
        preferred: preference pairs, which become a configuration of their own.
        license: the Hub's identifier of the licence of the notes and of what was made from them.
        held_out: the share of dialogues in the split ``validation``; chosen by a hash of the case, so always the same.
            Dialogues of one note, whatever its ids, are in one split.

    Raises:
        ConfigurationError: the folder holds something else, or two dialogues have one id.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / CARD).is_file())):
        raise ConfigurationError(f"{folder}: contains other files; name a new folder with -o")
    if repeated := [*repetitions(dialogue.id for dialogue in dialogues)]:
        raise ConfigurationError(
            f"{len(repeated)} ids appear twice ({repeated[0]!r}, ...); export the sources separately"
        )
    sets: dict[str, list[tuple[str, Line]]] = {
        "dialogues": [(case_of(dialogue.id), _row(dialogue)) for dialogue in dialogues],
        "sft": [(case_of(line["id"]), line) for line in interviews(dialogues)],
        "preference": [(line["case"], line) for line in preferred],
    }
    first: dict[str, str] = {}  # of the cases with one note, the one that decides for all
    for dialogue in sorted(dialogues, key=lambda one: one.id):
        first.setdefault(_note(dialogue), case_of(dialogue.id))
    decides = {case_of(dialogue.id): first[_note(dialogue)] for dialogue in dialogues}
    files = {
        f"{name}/{split}.jsonl": [
            line for case, line in lines_by_case if (_share(decides.get(case, case)) < held_out) is is_held_out
        ]
        for name, lines_by_case in sets.items()
        for split, is_held_out in (("train", False), ("validation", True))
    }
    counts = {file: len(lines) for file, lines in files.items() if lines}
    # First: by its card a folder that a full disk left half written is known as ours, and may be written again.
    write_whole(folder / CARD, _card(data_sheet(dialogues), dialogues, counts, license))
    for file, lines in files.items():
        if lines:
            write_json_lines(folder / file, lines)
        else:
            (folder / file).unlink(missing_ok=True)
    return counts


def _note(dialogue: Dialogue) -> str:
    """The note without the white space that makes no difference; a dialogue without a note stands alone."""
    return " ".join(dialogue.note.split()) or case_of(dialogue.id)


def _share(name: str) -> float:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32


def _row(dialogue: Dialogue) -> Line:
    """Return a dialogue as a row; its sections as a list, since a column has one type."""
    row = dialogue.model_dump()
    return row | {"sections": [{"name": name, "begins": place} for name, place in dialogue.sections.items()]}


def _card(sheet: DataSheet, dialogues: Sequence[Dialogue], counts: dict[str, int], license: str) -> str:
    import yaml

    configs = [
        {
            "config_name": name,
            "data_files": [{"split": Path(file).stem, "path": file} for file in same],
            **({"default": True} if name == "dialogues" else {}),
        }
        for name, same in groupby(counts, key=lambda file: file.partition("/")[0])
    ]
    size = next((name for most, name in _SIZES.items() if len(dialogues) < most), "1M<n<10M")
    front = {
        "license": license,
        "language": sorted(sheet.languages),
        "task_categories": ["text-generation"],
        "tags": ["medical", "synthetic", "dialogue", "conversational"],
        "size_categories": [size],
        "configs": configs,
        "dataset_info": [{"config_name": "dialogues", "features": list(map(_column, Dialogue.model_fields))}],
    }
    template = Path(__file__).with_name("hub_card.md").read_text("utf-8")
    values = {
        "use": RESEARCH_ONLY,
        "dialogues": counted(sheet.dialogues, "dialogue"),
        "turns": _figures(sheet),
        "sources": _listed(dialogue.source or "not recorded" for dialogue in dialogues),
        "ways": _listed(dialogue.strategy or "not recorded" for dialogue in dialogues),
        "models": _listed(model for dialogue in dialogues for model in dialogue.models or ["not recorded"]),
        "departments": _listed(dialogue.department or "not recorded" for dialogue in dialogues),
        "rare": ", ".join(map(in_markdown, sheet.rare)) or "none",
        "files": "\n".join(f"- `{file}`: {counted(count, 'line')}" for file, count in counts.items()),
        "version": versions(["wardround"])["wardround"] or "",
        "license": in_markdown(license),
    }
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n\n{template.format(**values)}"


def _column(name: str) -> dict[str, object]:
    """A column's type as a card states it."""
    if name in _ROWS:
        return {"name": name, "list": [{"name": key, "dtype": kind} for key, kind in _ROWS[name].items()]}
    return {"name": name, "list": "string"} if name in _TEXTS else {"name": name, "dtype": "string"}


def _figures(sheet: DataSheet) -> str:
    averages = [sheet.average_turns, sheet.average_words_physician, sheet.average_words_patient]
    turns, physician, patient = ("-" if value is None else f"{value:.1f}" for value in averages)
    return (
        f"{sheet.min_turns} to {sheet.max_turns} turns, {turns} on average; {physician} words in a physician's "
        f"utterance, {patient} in a patient's"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{in_markdown(name)} ({count})" for name, count in Counter(names).most_common())
