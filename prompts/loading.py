"""Loading, checking, hashing and rendering prompt files."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from jinja2 import StrictUndefined, meta
from jinja2.exceptions import TemplateError
from jinja2.sandbox import SandboxedEnvironment

from prompts.folders import find_prompt, prompt_folders

Language = Literal["en", "zh"]


class PromptError(ValueError):
    """A prompt file that is missing or does not declare what it uses."""


@dataclass(frozen=True)
class Prompt:
    """A checked prompt: two templates, the variables they need, and the hash of every word in them."""

    name: str
    language: Language
    variables: frozenset[str]
    system: str
    user: str
    stage_texts: Mapping[str, str]
    hash: str

    def render(self, variables: Mapping[str, Any]) -> tuple[str, str]:
        """The system and the user message.

        Args:
            variables: a value for each declared variable; others are ignored.

        Raises:
            PromptError: a declared variable is missing.
        """
        if missing := self.variables - variables.keys():
            raise PromptError(f"prompt {self.name} ({self.language}) needs {', '.join(sorted(missing))}")
        values = {name: variables[name] for name in self.variables} | dict(self.stage_texts)
        return _render(self.system, values), _render(self.user, values)


def load_prompt(name: str, language: Language, stage: str | None = None) -> Prompt:
    """Read ``<language>/<name>.md`` from the first of the prompt folders that has it, and check it.

    A file opens with a YAML header that names its ``variables`` and, optionally, the ``stage_texts`` it takes from
    ``stages/<stage>.md`` beside it (what is to be decided at that stage, what a judge looks for). Then come
    a ``# system`` and a ``# user`` section, the part that never changes first.

    Raises:
        PromptError: no such file, a section missing, or a variable used but not declared (or declared but not used).
    """
    return _load(name, language, stage, prompt_folders())


@cache
def _load(name: str, language: Language, stage: str | None, _: tuple[Path, ...]) -> Prompt:
    source = _read(name, language)
    header, sections = _parse(name, source)
    stage_texts: dict[str, str] = {}
    sources = [source]
    if wanted := header.get("stage_texts", []):
        if stage is None:
            raise PromptError(f"prompt {name} is a prompt of a stage; say which")
        stage_source = _read(f"{name.rpartition('/')[0]}/stages/{stage}", language)
        sources.append(stage_source)
        found = _parse(stage, stage_source)[1]
        if absent := set(wanted) - found.keys():
            raise PromptError(f"stage text {stage} ({language}) lacks the section {', '.join(sorted(absent))}")
        stage_texts = {section: found[section] for section in wanted}
    if absent := {"system", "user"} - sections.keys():
        raise PromptError(f"prompt {name} ({language}) lacks the section {', '.join(sorted(absent))}")
    declared = frozenset(header.get("variables", []))
    _check_variables(f"{name} ({language})", sections["system"] + sections["user"], declared | stage_texts.keys())
    return Prompt(
        name=name,
        language=language,
        variables=declared,
        system=sections["system"],
        user=sections["user"],
        stage_texts=stage_texts,
        hash=hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16],
    )


def fence(text: object, label: str) -> str:
    """Case text, patient's words or model output as marked data, so that nothing in it reads as an instruction."""
    inner = re.sub(r"(?i)<(\s*/?\s*data)", r"‹\1", str(text).strip())
    return f'<data name="{label}">\n{inner}\n</data>'


_environment = SandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False, autoescape=False
)
_environment.filters["fence"] = fence
_environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}


_compiled = cache(_environment.from_string)


def _render(template: str, values: Mapping[str, Any]) -> str:
    try:
        text = _compiled(template).render(values)
    except TemplateError as error:
        raise PromptError(f"prompt cannot be rendered: {error}") from error
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _read(name: str, language: Language) -> str:
    if (path := find_prompt(name, language)) is None:
        raise PromptError(f"there is no prompt file prompts/{language}/{name}.md")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"prompt {path} cannot be read: {error}") from error


def _parse(name: str, source: str) -> tuple[dict[str, Any], dict[str, str]]:
    header: dict[str, Any] = {}
    body = source
    if source.startswith("---\n"):
        head, _, body = source[4:].partition("\n---\n")
        header = yaml.safe_load(head) or {}
        if unknown := header.keys() - {"role", "variables", "stage_texts"}:
            raise PromptError(f"prompt {name}: unknown header field {', '.join(sorted(unknown))}")
    parts = re.split(r"^# (\w+)\s*$", body, flags=re.MULTILINE)
    return header, {title: text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def _check_variables(name: str, template: str, declared: frozenset[str]) -> None:
    try:
        used = meta.find_undeclared_variables(_environment.parse(template))
    except TemplateError as error:
        raise PromptError(f"prompt {name} is not a valid template: {error}") from error
    if used - declared:
        raise PromptError(f"prompt {name} uses what it does not declare: {', '.join(sorted(used - declared))}")
    if declared - used:
        raise PromptError(f"prompt {name} declares what it does not use: {', '.join(sorted(declared - used))}")
