"""Prompts, one folder per language: templates with declared variables, and the wordings of offline rules."""

from prompts.complete import SpokenLanguage, check_language, whole_languages
from prompts.files import PromptError
from prompts.folders import add_prompts, cached_with_prompts, laid_over, languages, prompt_folders
from prompts.loading import Prompt, load_prompt
from prompts.stages import check_stage_texts, stage_title
from prompts.templates import age
from prompts.words import (
    in_series,
    listed,
    load_descriptions,
    load_words,
    mark,
    on_one_line,
    said,
    speaker,
    with_full_stop,
)

__all__ = [
    "Prompt",
    "PromptError",
    "SpokenLanguage",
    "add_prompts",
    "age",
    "cached_with_prompts",
    "check_language",
    "check_stage_texts",
    "in_series",
    "laid_over",
    "languages",
    "listed",
    "load_descriptions",
    "load_prompt",
    "load_words",
    "mark",
    "on_one_line",
    "prompt_folders",
    "said",
    "speaker",
    "stage_title",
    "whole_languages",
    "with_full_stop",
]
