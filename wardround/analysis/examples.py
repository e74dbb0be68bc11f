"""Write a run's consultation as a one-shot example for the doctor of other runs (`nodes.consultation.example`)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cases import Case
from cases.pictures import own_picture
from cases.vocabulary import Language
from nodes.state.chart import Turn
from prompts import load_words, mark, on_one_line, said
from wardround.config.experiment import ConfigurationError
from wardround.store.provenance import write_whole
from wardround.store.recorded_run import RecordedRun


def write_example(run: RecordedRun, case_id: str, out: Path) -> int:
    """Write a consultation as a text file, with its pictures beside it; return the number of pictures.

    The doctor's thoughts, if the run has any, come before its words, and a picture's report is its link text.

    Raises:
        ConfigurationError: the run has no finished consultation with this case, or a picture is gone.
    """
    for result, answers in run.each_dialogue():
        if result.case_id == case_id and result.scored:
            case = run.case_of(*result.key)
            pictures = _copy_pictures(out, answers.dialogue, case)
            thoughts = {
                call.answer["text"]: call.answer["reasoning"]
                for call in run.trace(result).calls
                if call.role == "doctor" and isinstance(call.answer, dict) and call.answer.get("reasoning")
            }
            language = run.experiment.context.prompt_language(case.language)
            lines = _lines(answers.dialogue, thoughts, case, pictures, language)
            write_whole(out, "".join(f"{line}\n" for line in lines))
            return len(pictures)
    raise ConfigurationError(
        f"{run.path}: has no finished consultation for case {case_id!r}; name one of its cases with --case-id"
    )


def _copy_pictures(out: Path, dialogue: Sequence[Turn], case: Case) -> dict[str, str]:
    """Copy the pictures of a dialogue beside the example, and return their names there."""
    files = list(dict.fromkeys(picture.file for turn in dialogue for picture in turn.pictures))
    stem = re.sub(r"[^\w-]+", "_", out.stem)
    names = {file: f"{stem}-{number}{Path(file).suffix}" for number, file in enumerate(files, start=1)}
    for file, name in names.items():
        if (own := own_picture(case, file)) is None:
            raise ConfigurationError(f"{out}: {file} is in the dialogue, but is no picture of case {case.id}")
        try:
            write_whole(out.parent / name, own.read_bytes())
        except OSError as error:
            raise ConfigurationError(
                f"{out}: picture {file} of the dialogue cannot be copied ({error.strerror or error})"
            ) from error
    return names


def _lines(
    dialogue: Sequence[Turn], thoughts: Mapping[str, str], case: Case, pictures: Mapping[str, str], language: Language
) -> Iterator[str]:
    thought = load_words("consultation/words", language)["example"]["thought"]
    for turn in dialogue:
        words = turn.text
        # Find the thought that belongs to these words: the turn ends with the text of the doctor's answer, and perhaps
        # with the shorter text of another.
        ends = [text for text in thoughts if words.endswith(text)] if turn.speaker == "doctor" else []
        if spoken := max(ends, key=len, default=""):
            yield f"{thought}{mark('label', language)}{on_one_line(thoughts[spoken])}"
            words = spoken
        links = []
        for picture in turn.pictures:
            report = on_one_line(case.report_of(picture.item, picture.file) or picture.item)
            links.append(f"![{report.translate(str.maketrans('[]', '()'))}]({pictures[picture.file]})")
        yield said(turn.speaker, " ".join([words, *links]), language)
