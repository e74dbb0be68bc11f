"""A consultation of a run as the one-shot example that other runs show their doctor (`nodes.consultation.example`)."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cases import Case
from cases.vocabulary import Language
from nodes.state.chart import Turn
from prompts import load_words, mark, speaker
from wardround.config.experiment import ConfigurationError
from wardround.store.provenance import write_whole
from wardround.store.recorded_run import RecordedRun


def write_example(run: RecordedRun, case_id: str, out: Path) -> int:
    """Write a text file, and beside it the pictures that were handed over; how many these are.

    The doctor's thoughts stand before its words, where the run has any, and what a picture shows stands with it.

    Raises:
        ConfigurationError: the run has no finished consultation with this case, or a picture is gone.
    """
    for result, answers in run.each_dialogue():
        if result.case_id == case_id and result.scored:
            case = run.cases[case_id]
            pictures = _beside(out, answers.dialogue)
            thoughts = {
                call.answer["text"]: call.answer["reasoning"]
                for call in run.trace(result).calls
                if call.role == "doctor" and isinstance(call.answer, dict) and "reasoning" in call.answer
            }
            language = run.experiment.context.language or case.language
            lines = _lines(answers.dialogue, thoughts, case, pictures, language)
            write_whole(out, "".join(f"{line}\n" for line in lines))
            return len(pictures)
    raise ConfigurationError(
        f"{run.path}: holds no finished consultation with the case {case_id!r}; --case-id takes one that it has"
    )


def _beside(out: Path, dialogue: Sequence[Turn]) -> dict[str, str]:
    """The name that each picture of a dialogue has beside the example, copied there."""
    files = list(dict.fromkeys(picture.file for turn in dialogue for picture in turn.pictures))
    stem = re.sub(r"[^\w-]+", "_", out.stem)
    names = {file: f"{stem}-{number}{Path(file).suffix}" for number, file in enumerate(files, start=1)}
    for file, name in names.items():
        try:
            shutil.copyfile(file, out.parent / name)
        except OSError as error:
            raise ConfigurationError(f"{out}: a picture of the dialogue cannot be copied ({error})") from error
    return names


def _lines(
    dialogue: Sequence[Turn],
    thoughts: Mapping[str, str],
    case: Case,
    pictures: Mapping[str, str],
    language: Language,
) -> Iterator[str]:
    thought = load_words("consultation/words", language)["example"]["thought"]
    for turn in dialogue:
        words = turn.text
        # Spoken thoughts stand before the words.
        spoken = next((text for text in thoughts if turn.speaker == "doctor" and words.endswith(text)), "")
        if spoken:
            yield f"{thought}{mark('label', language)}{_on_one_line(thoughts[spoken])}"
            words = spoken
        shown = [
            f"![{_label(case.report_of(picture.item, picture.file) or picture.item)}]({pictures[picture.file]})"
            for picture in turn.pictures
        ]
        yield f"{speaker(turn.speaker, language)}{_on_one_line(' '.join([words, *shown]))}"


def _label(report: str) -> str:
    """A report as a Markdown link can carry it."""
    return _on_one_line(report).translate(str.maketrans("[]", "()"))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
