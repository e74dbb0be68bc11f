"""What prompts take from the text of a stage, ``stages/<stage>.md`` in their folder or else in MedChain's."""

from collections.abc import Mapping
from typing import Any

from prompts.files import Language, PromptError, joined, parse, read
from prompts.folders import cached_with_prompts, find_prompt


def stage_texts(
    name: str, header: Mapping[str, Any], language: Language, stage: str | None
) -> tuple[dict[str, str], str]:
    """Return what a prompt takes from a stage's text, by section, and the source of that text; empty if nothing."""
    wanted = header.get("stage_texts")
    if not wanted:
        return {}, ""
    if stage is None:
        raise PromptError(f"prompt {name} is for a stage; name the stage")
    beside = f"{name.rpartition('/')[0]}/stages/{stage}"
    source = read(beside if find_prompt(beside, language) else f"medchain/stages/{stage}", language)
    found = parse(stage, source)[1]
    if absent := {section for section in wanted if not found.get(section)}:
        raise PromptError(f"stage text {stage} ({language}) lacks the section {joined(absent)}")
    return {section: found[section] for section in wanted}, source


def check_stage_texts(name: str, language: Language, stage: str) -> None:
    """Check that a stage has the texts that a prompt takes from it.

    Raises:
        PromptError: the text of the stage, or a section of it, is missing.
    """
    stage_texts(name, parse(name, read(name, language))[0], language, stage)


def stage_title(stage: str, language: Language) -> str:
    """Return the title that a chart shows for a stage without a field of its own: the section ``title`` of its text.

    Raises:
        PromptError: the text, or the section, is missing.
    """
    found = parse(stage, read(f"medchain/stages/{stage}", language))[1]
    if not found.get("title"):
        raise PromptError(f"stage text {stage} ({language}) lacks the section title")
    return found["title"]


@cached_with_prompts
def titled(stage: str, language: Language) -> str:
    """Return a part of the course in words: its title if it has one, else its name."""
    try:
        return stage_title(stage, language)
    except PromptError:
        return stage.replace("_", " ")
