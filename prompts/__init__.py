"""The words: one folder per language; prompts with their variables declared, and what is said without a model."""

from prompts.folders import add_prompts, laid_over, languages, prompt_folders
from prompts.loading import (
    Prompt,
    PromptError,
    SpokenLanguage,
    age,
    check_language,
    check_stage_texts,
    load_prompt,
    load_words,
    mark,
    speaker,
    stage_title,
)

__all__ = [
    "Prompt",
    "PromptError",
    "SpokenLanguage",
    "add_prompts",
    "age",
    "check_language",
    "check_stage_texts",
    "laid_over",
    "languages",
    "load_prompt",
    "load_words",
    "mark",
    "prompt_folders",
    "speaker",
    "stage_title",
]
