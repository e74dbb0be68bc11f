"""Load, check, hash and render prompt files, and load the wordings of offline rules.

A language is a folder: ``<language>/<system>/<name>.md`` is a prompt, ``.toml`` holds the wordings of offline rules.
English is the reference: every other language has the same files, with the same sections, variables and keys.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel

from prompts.folders import OURS, cached_with_prompts, find_prompt, languages, prompt_files, prompt_folders

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

Language = str
_REFERENCE = "en"
_HEADING = re.compile(r"fence\(\"([^\"]+)\"\)")
_LONGEST_REPETITION = 1_000_000
_SHIPPED = frozenset(languages())


class PromptError(ValueError):
    """A prompt file is missing or invalid."""


def check_language(language: Language) -> Language:
    """Return the language if it has all built-in prompts; those of plug-ins are checked when they are used.

    Raises:
        PromptError: the language has no folder, a file is missing, or a file lacks something that the English one has.
    """
    if language not in _SHIPPED or prompt_folders() != (OURS,):  # tests check the built-in ones
        _check_language(language)
    return language


@cached_with_prompts
def whole_languages() -> tuple[str, ...]:
    """Return the languages that have all built-in prompts; a plug-in may bring its own prompts in further ones."""
    return tuple(filter(_is_whole, languages()))


def _is_whole(language: Language) -> bool:
    try:
        check_language(language)
    except PromptError:
        return False
    return True


def warm_up() -> None:
    """Read all prompts and wordings of every language, so that no file is read later."""
    for language in whole_languages():
        _check_language(language)


@cached_with_prompts
def _check_language(language: Language) -> None:
    if language not in languages():
        raise PromptError(
            f"there are no prompts in the language {language!r}; available: {', '.join(languages())}; name a folder "
            "that has them with --prompts (docs/languages.md)"
        )
    known = {name for folder in prompt_folders() for name in prompt_files(folder)}
    wanted = _reference_files(prompt_files(OURS))
    if absent := [name for name in wanted if f"{language}/{name}" not in known]:
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        raise PromptError(f"the language {language!r} lacks {', '.join(absent[:5])}{more}, which English has")
    names = [name for name in _reference_files(known) if f"{language}/{name}" in known]
    for name, _, suffix in (name.rpartition(".") for name in names):
        if suffix == "toml":
            load_words(name, language)
        elif "/stages/" not in name:
            _check_prompt(name, language, [stage for stage in names if "/stages/" in stage])


def _reference_files(files: Iterable[str]) -> list[str]:
    return sorted(name.removeprefix(f"{_REFERENCE}/") for name in files if name.startswith(f"{_REFERENCE}/"))


def _check_prompt(name: str, language: Language, stages: list[str]) -> None:
    names = [Path(stage).stem for stage in stages]
    for stage in names if _is_of_a_stage(name, language) else [None]:
        prompt = load_prompt(name, language, stage)
        if unknown := prompt.variables - _passed_variables(name):
            raise PromptError(
                f"prompt {name} ({language}) declares variables that are not provided: {_joined(unknown)}"
            )
        for template in (prompt.system, prompt.user):
            _compiled(template)


def _is_of_a_stage(name: str, language: Language) -> bool:
    """Whether a prompt, or an opening before it, takes words from the text of a stage."""
    seen: set[str] = set()  # that a prompt opens itself is refused when it is loaded
    while name not in seen:
        seen.add(name)
        header = _parse(name, _read(name, language))[0]
        if "stage_texts" in header:
            return True
        name = header.get("opening", name)
    return False


def _passed_variables(name: str) -> frozenset[str]:
    """Return what a role passes to its prompt: the variables of the built-in (or else a plug-in's) English prompt."""
    *_, first = (path for folder in prompt_folders() if (path := folder / _REFERENCE / f"{name}.md").is_file())
    header = _parse(name, first.read_text("utf-8-sig"))[0]
    before = _passed_variables(header["opening"]) if "opening" in header else frozenset()
    return before | frozenset(header.get("variables", ()))


class _LanguageSchema:
    """Offers the existing languages in a form."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": languages()}


# A language that has all prompts.
SpokenLanguage = Annotated[str, AfterValidator(check_language), _LanguageSchema()]


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
            raise PromptError(f"prompt {self.name} ({self.language}) lacks a value for {_joined(missing)}")
        values = {"language": self.language, **{name: variables[name] for name in self.variables}, **self.stage_texts}
        try:
            return _render(self.system, values), _render(self.user, values)
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
    source = _read(name, language)
    header, sections = _parse(name, source)
    stage_texts, stage_source = _stage_texts(name, header, language, stage)
    sources = [source, *filter(None, [stage_source])]
    declared = frozenset(header.get("variables", ()))
    if opening := header.get("opening"):
        try:
            before = load_prompt(opening, language, stage)
        except RecursionError as error:
            raise PromptError(f"prompt {name} ({language}) has itself as its opening") from error
        sections["system"] = f"{before.system}\n\n{sections.get('system', '')}".strip()
        if "user" in sections:
            sections["user"] = f"{before.user}\n\n{sections['user']}"
        declared |= before.variables
        stage_texts = {**before.stage_texts, **stage_texts}
        sources.append(before.hash)
    if absent := {"system", "user"} - sections.keys():
        has = f"; it has {_joined(sections)}" if sections.keys() - {"", "system", "user"} else ""
        raise PromptError(f"prompt {name} ({language}) lacks the section {_joined(absent)}{has}")
    if unsent := sections.keys() - {"system", "user"}:
        lost = "text before its first section" if "" in unsent else f"the section {_joined(unsent)}"
        raise PromptError(
            f"prompt {name} ({language}) has {lost}, which would not be sent; a heading inside a message begins with ##"
        )
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


def stage_title(stage: str, language: Language) -> str:
    """Return the title that a chart shows for a stage without a field of its own: the section ``title`` of its text.

    Raises:
        PromptError: the text, or the section, is missing.
    """
    found = _parse(stage, _read(f"medchain/stages/{stage}", language))[1]
    if "title" not in found:
        raise PromptError(f"stage text {stage} ({language}) lacks the section title")
    return found["title"]


@cached_with_prompts
def titled(stage: str, language: Language) -> str:
    """Return a part of the course in words: its title if it has one, else its name."""
    try:
        return stage_title(stage, language)
    except PromptError:
        return stage.replace("_", " ")


@cached_with_prompts
def load_words(name: str, language: Language) -> Mapping[str, Any]:
    """Read the wordings of offline rules, ``<language>/<name>.toml``, with the keys of the English file.

    A file that lacks keys of ours in that language, as an older copy may, has our wordings for them.

    Raises:
        PromptError: no such file, or its keys or placeholders differ from those of the English file.
    """
    try:
        words = tomllib.loads(_read(name, language, "toml"))
    except tomllib.TOMLDecodeError as error:
        raise PromptError(f"{name} ({language}) is not a TOML file: {error}") from error
    shipped = OURS / language / f"{name}.toml"
    if shipped.is_file() and find_prompt(name, language, "toml") != shipped:
        words = _filled(words, tomllib.loads(shipped.read_text("utf-8")))
    pattern = OURS / _REFERENCE / f"{name}.toml"
    if pattern.is_file():
        _check_words(f"{name} ({language})", words, tomllib.loads(pattern.read_text("utf-8")))
    return words


def mark(kind: str, language: Language) -> str:
    """Return a punctuation mark, or the word for ``nothing``, by its name in `punctuation.toml`."""
    return str(load_words("punctuation", language)[kind])


def with_full_stop(text: str, language: Language) -> str:
    """Return a sentence with the language's full stop, unless it has an ending of its own."""
    text = text.rstrip("；;，,、")
    return text if text.endswith((".", "!", "?", "。", "！", "？")) else text + mark("stop", language)


def speaker(who: str, language: Language) -> str:
    """Return the speaker label in a dialogue that a judge reads."""
    return f"{load_words('judges/words', language)[who]}{mark('label', language)}"


def _filled(words: Any, ours: Any) -> Any:
    """Add what an older copy of our wordings lacks; with a key that is not ours, it is taken as misspelt, not older."""
    if not (isinstance(words, dict) and isinstance(ours, dict) and words.keys() <= ours.keys()):
        return words
    return {key: _filled(words[key], value) if key in words else value for key, value in ours.items()}


def _check_words(where: str, words: Any, pattern: Any) -> None:
    if isinstance(words, dict) and isinstance(pattern, dict):
        if absent := pattern.keys() - words.keys():
            raise PromptError(f"{where} lacks {_joined(absent)}")
        if unknown := words.keys() - pattern.keys():
            raise PromptError(f"{where} has entries that are not used: {_joined(unknown)}")
        for key, value in words.items():
            _check_words(f"{where}: {key}", value, pattern[key])
    elif type(words) is not type(pattern) or (isinstance(pattern, list) and pattern and not words):
        raise PromptError(f"{where}: expected a {type(pattern).__name__}, as in English, found {words!r}")
    elif unknown := _placeholders(words) - _placeholders(pattern):
        raise PromptError(f"{where} has placeholders that are not filled: {_joined(unknown)}")


def _placeholders(words: Any) -> set[str]:
    return set(re.findall(r"\{\w*\}", str(words)))


def _joined(names: Any) -> str:
    return ", ".join(sorted(names))


# Our tags, and the marks by which chat templates tell roles and turns apart: servers read them in any text as such.
_MARKS = re.compile(
    r"<(?=\s*/?\s*data|[|｜]|/?(?:s|bos|eos|start_of_turn|end_of_turn)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT))\])",
    re.IGNORECASE,
)


def fence(text: object, label: str) -> str:
    """Mark case text, patient's words or model output as data, so that nothing in it reads as an instruction."""
    inner = str(text).strip()
    if "<" in inner or "[" in inner:
        inner = _MARKS.sub(lambda found: "‹" if found[0] == "<" else "⁅", inner)
    return f'<data name="{label}">\n{inner}\n</data>'


def age(years: float, in_years: str, in_months: str, in_days: str) -> str:
    """Return an age with its unit: completed years, months under three years, or days under two months."""
    if years >= 3:
        return in_years.format(int(years))
    if years * 12 >= 2:
        return in_months.format(round(years * 12))
    return in_days.format(round(years * 365))


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader, if available, takes a tenth of the time


@cache
def _environment() -> "SandboxedEnvironment":
    from jinja2 import StrictUndefined  # imported late: not needed to build a graph
    from jinja2.sandbox import SandboxedEnvironment

    of_models = {*dir(BaseModel), *dir(type(BaseModel))}

    class Bounded(SandboxedEnvironment):
        intercepted_binops = frozenset("*")

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            """Refuse also what Pydantic gives to every model but its content, as `parse_raw` unpickles code."""
            kind = obj if isinstance(obj, type) else type(obj)
            of_pydantic = attr in of_models and issubclass(kind, BaseModel)
            allowed = not of_pydantic or attr in ("model_dump", "model_dump_json")
            return allowed and bool(super().is_safe_attribute(obj, attr, value))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            """Refuse to repeat a text or list until the memory is full, as the sandbox refuses an endless `range`."""
            lengths = [len(each) if isinstance(each, str | list | tuple) else each for each in (left, right)]
            if lengths != [left, right] and lengths[0] * lengths[1] > _LONGEST_REPETITION:
                raise OverflowError(f"a text or list repeated to more than {_LONGEST_REPETITION:,} characters or items")
            return super().call_binop(context, operator, left, right)

    environment = Bounded(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False, autoescape=False
    )
    environment.filters |= {"fence": fence, "age": age, "titled": titled}
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment


@cache
def _compiled(source: str) -> "Template":
    template = _environment().from_string(source)
    template.globals = dict(template.globals)  # a plain dict is faster than the chain of dictionaries at each rendering
    return template


def _render(template: str, values: Mapping[str, Any]) -> str:
    text = _compiled(template).render(values)
    return (re.sub(r"\n{3,}", "\n\n", text) if "\n\n\n" in text else text).strip()


def _read(name: str, language: Language, suffix: str = "md") -> str:
    if (path := find_prompt(name, language, suffix)) is None:
        known = (
            "" if language in languages() else f"; there are {', '.join(languages())}; name its folder with --prompts"
        )
        raise PromptError(f"there is no file prompts/{language}/{name}.{suffix}{known}")
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"prompt {path} cannot be read: {error}") from error


# The fields of a header; ``role`` is only for human readers.
_FIELDS = {"role": str, "opening": str, "variables": list, "stage_texts": list}


@cache
def _header(head: str) -> Mapping[str, Any]:
    """Return the header of a prompt, with the type of each field checked.

    Raises:
        ValueError: it is not a mapping, or has an unknown or invalid field.
        yaml.YAMLError: it is not YAML.
    """
    header = yaml.load(head, _Loader) or {}
    if not isinstance(header, dict):
        raise ValueError(f"expected fields with values, found a {type(header).__name__}")
    for field, value in header.items():
        if field not in _FIELDS:
            raise ValueError(f"unknown field {field}; expected one of {_joined(_FIELDS)}")
        names = value if isinstance(value, list) else [value]
        if not isinstance(value, _FIELDS[field]) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{field}: {value!r} is not a {'list of names' if _FIELDS[field] is list else 'name'}")
    return header


def check_stage_texts(name: str, language: Language, stage: str) -> None:
    """Check that a stage has the texts that a prompt takes from it.

    Raises:
        PromptError: the text of the stage, or a section of it, is missing.
    """
    _stage_texts(name, _parse(name, _read(name, language))[0], language, stage)


def _stage_texts(
    name: str, header: Mapping[str, Any], language: Language, stage: str | None
) -> tuple[dict[str, str], str]:
    """Return what a prompt takes from a stage's text, by section, and the source of that text; empty if nothing."""
    wanted = header.get("stage_texts")
    if not wanted:
        return {}, ""
    if stage is None:
        raise PromptError(f"prompt {name} is for a stage; name the stage")
    beside = f"{name.rpartition('/')[0]}/stages/{stage}"
    source = _read(beside if find_prompt(beside, language) else f"medchain/stages/{stage}", language)
    found = _parse(stage, source)[1]
    if absent := set(wanted) - found.keys():
        raise PromptError(f"stage text {stage} ({language}) lacks the section {_joined(absent)}")
    return {section: found[section] for section in wanted}, source


def _parse(name: str, source: str) -> tuple[Mapping[str, Any], dict[str, str]]:
    header: Mapping[str, Any] = {}
    body = source
    if source.startswith("---\n"):
        head, _, body = source[4:].partition("\n---\n")
        try:
            header = _header(head)
        except (ValueError, yaml.YAMLError) as error:
            raise PromptError(f"prompt {name}: header: {' '.join(str(error).split())}") from error
    before, *parts = re.split(r"^# (\w+)\s*$", body, flags=re.MULTILINE)
    titles, texts = parts[::2], parts[1::2]
    if twice := {title for title in titles if titles.count(title) > 1}:
        raise PromptError(f"prompt {name} has two sections of one name: {_joined(twice)}")
    sections = {title: text.strip() for title, text in zip(titles, texts, strict=True)}
    return header, {"": before.strip(), **sections} if before.strip() else sections


@cache
def _variables_of(template: str) -> frozenset[str]:
    """Return the variables that a template uses; cached, as stages share templates."""
    from jinja2 import TemplateSyntaxError, meta

    parsed = _environment().parse(template)
    if [*meta.find_referenced_templates(parsed)]:  # None for a name that is a variable
        raise TemplateSyntaxError("it includes another file; a beginning that prompts share is their `opening`", 1)
    return frozenset(meta.find_undeclared_variables(parsed))


def _check_variables(name: str, template: str, declared: frozenset[str]) -> None:
    from jinja2 import TemplateError

    try:
        used = _variables_of(template)
    except TemplateError as error:
        raise PromptError(f"prompt {name} is not a valid template: {error}") from error
    if unknown := used - declared - {"language"}:  # the prompt's language, always defined
        raise PromptError(f"prompt {name} uses variables that it does not declare: {_joined(unknown)}")
    if declared - used:
        raise PromptError(f"prompt {name} declares variables that it does not use: {_joined(declared - used)}")
