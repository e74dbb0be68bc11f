"""Load, check, hash and render prompts: ``<language>/<system>/<name>.md``."""

import hashlib
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prompts.files import Language, PromptError, joined, parse, read
from prompts.folders import cached_with_prompts, find_prompt
from prompts.stages import stage_texts
from prompts.templates import check_variables, render

_SENT = frozenset({"system", "user"})  # the sections of a prompt
_HEADING = re.compile(r"fence\(\"([^\"]+)\"\)")


@dataclass(frozen=True)
class Prompt:
    """A checked prompt: two templates, the variables they need, and a hash of all their text."""

    name: str
    language: Language
    variables: frozenset[str]
    system: str
    user: str
    stage_texts: Mapping[str, str]
    hash: str

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The headings of the prompt's fenced data, as far as they are literals."""
        return tuple(_HEADING.findall(f"{self.system}\n{self.user}"))

    def render(self, variables: Mapping[str, Any]) -> tuple[str, str]:
        """Return the system and the user message.

        Args:
            variables: a value for each declared variable; others are ignored.

        Raises:
            PromptError: a declared variable is missing.
        """
        if missing := self.variables - variables.keys():
            raise PromptError(f"prompt {self.name} ({self.language}) lacks a value for {joined(missing)}")
        values = {"language": self.language, **{name: variables[name] for name in self.variables}, **self.stage_texts}
        try:
            return render(self.system, values), render(self.user, values)
        except Exception as error:  # an expression of a template may raise anything
            raise PromptError(f"prompt {self.name} ({self.language}) cannot be rendered: {error}") from error


@cached_with_prompts
def load_prompt(name: str, language: Language, stage: str | None = None) -> Prompt:
    """Read ``<language>/<name>.md`` from the first of the prompt folders that has it, and check it.

    A file begins with a YAML header that names its ``variables`` and, optionally, the ``stage_texts`` (what to decide
    at a stage, what a judge looks for) that it takes from ``stages/<stage>.md`` in its folder or else from
    ``medchain/stages/<stage>.md``. A ``# system`` and a ``# user`` section follow, with the constant part first. Text
    that several roles share at the start is another prompt, the ``opening``, so that a server's prefix cache can reuse
    it.

    Raises:
        PromptError: no such file, a section missing, or a variable used but not declared (or declared but not used).
    """
    source = read(name, language)
    header, sections = parse(name, source)
    texts, stage_source = stage_texts(name, header, language, stage)
    sources = [source, *filter(None, [stage_source])]
    declared = frozenset(header.get("variables", ()))
    if opening := header.get("opening"):
        if find_prompt(opening, language) is None:
            raise PromptError(f"prompt {name} ({language}): opening: there is no file prompts/{language}/{opening}.md")
        try:
            before = load_prompt(opening, language, stage)
        except RecursionError as error:
            raise PromptError(f"prompt {name} ({language}) has itself as its opening") from error
        sections["system"] = f"{before.system}\n\n{sections.get('system', '')}".strip()
        if "user" in sections:
            sections["user"] = f"{before.user}\n\n{sections['user']}"
        declared |= before.variables
        texts = {**before.stage_texts, **texts}
        sources.append(before.hash)
    _check_sections(f"{name} ({language})", sections.keys())
    check_variables(f"{name} ({language})", sections["system"] + sections["user"], declared | texts.keys())
    return Prompt(
        name=name,
        language=language,
        variables=declared,
        system=sections["system"],
        user=sections["user"],
        stage_texts=texts,
        hash=hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16],
    )


def _check_sections(name: str, sections: Set[str]) -> None:
    """Check that a prompt has the two sections that are sent, and no others; PromptError with the ``name`` if not."""
    if absent := _SENT - sections:
        has = f"; it has {joined(sections)}" if sections - _SENT - {""} else ""
        raise PromptError(f"prompt {name} lacks the section {joined(absent)}{has}")
    if unsent := sections - _SENT:
        lost = "text before its first section" if "" in unsent else f"the section {joined(unsent)}"
        raise PromptError(
            f"prompt {name} has {lost}, which would not be sent; a heading inside a message begins with ##"
        )
