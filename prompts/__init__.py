"""The words: one Markdown file a role and language, with its variables declared and checked when loaded."""

from prompts.folders import add_prompts, laid_over, prompt_folders
from prompts.loading import Prompt, PromptError, load_prompt

__all__ = ["Prompt", "PromptError", "add_prompts", "laid_over", "load_prompt", "prompt_folders"]
