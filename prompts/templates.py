"""The templates of prompts: a Jinja sandbox in which case text stays data."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from prompts.files import PromptError, joined
from prompts.stages import titled
from prompts.words import in_series, listed, on_one_line

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

_LONGEST_REPETITION = 1_000_000

# Our tags, and the marks by which chat templates tell roles and turns apart: servers read them in any text as such.
# Among them are those of Gemma 4 (`<turn|>`), EXAONE (`[|user|]`), Llama 2 (`<<SYS>>`), Seed (`<seed:eos>`), MiniMax
# (`]~b]user`, `[e~[`), Ling (`<role>`), InternLM (`<eoa>`), MiniCPM (`<用户>`), Baichuan and Nemotron (numbered).
_BLANK = r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*"  # with what is not shown
_MARKS = re.compile(
    rf"<(?={_BLANK}(?:/{_BLANK})?data|[|｜]|\w{{1,40}}[|｜]>|<?/?(?:s|sys|bos|eos|sop|eop|eoh|eoa|sep|ai|用户|role"
    r"|(?:start|end)_of_turn|seed:\w{1,20}|(?:reserved|extra_id|special)_\d{1,4})>)"
    r"|\[(?=[|｜]|e~\[|/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|gMASK)\])"
    r"|\](?=~!?b[\[\]])",
    re.IGNORECASE,
)
_HARMLESS = {"<": "‹", "[": "⁅", "]": "⁆"}


def fence(text: object, label: str) -> str:
    """Mark case text, patient's words or model output as data, so that nothing in it reads as an instruction."""
    inner = str(text).strip()
    if "<" in inner or "[" in inner or "]~" in inner:
        inner = _MARKS.sub(lambda found: _HARMLESS[found[0]], inner)
    return f'<data name="{label}">\n{inner}\n</data>'


def age(years: float, in_years: str, in_months: str, in_days: str) -> str:
    """Return an age with its unit: completed years, months under three years, or days under two months."""
    if years >= 3:
        return in_years.format(int(years))
    if years * 12 >= 2:
        return in_months.format(round(years * 12))
    return in_days.format(round(years * 365))


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return the text of a template, without runs of empty lines; what an expression raises is not caught."""
    text = compiled(template).render(values)
    return (re.sub(r"\n{3,}", "\n\n", text) if "\n\n\n" in text else text).strip()


def check_variables(name: str, template: str, declared: frozenset[str]) -> None:
    """Check that a template is one, and uses the variables that its prompt declares, no more and no fewer.

    Raises:
        PromptError: it is not so; ``name`` is the prompt's in the message.
    """
    from jinja2 import TemplateError

    try:
        used = _variables_of(template)
    except TemplateError as error:
        raise PromptError(f"prompt {name} is not a valid template: {error.message}") from error
    if unknown := used - declared - {"language"}:  # the prompt's language, always defined
        raise PromptError(f"prompt {name} uses variables that it does not declare: {joined(unknown)}")
    if declared - used:
        raise PromptError(f"prompt {name} declares variables that it does not use: {joined(declared - used)}")


@cache
def _variables_of(template: str) -> frozenset[str]:
    """Return the variables that a template uses; cached, as stages share templates."""
    from jinja2 import TemplateSyntaxError, meta

    parsed = _environment().parse(template)
    if [*meta.find_referenced_templates(parsed)]:  # None for a name that is a variable
        raise TemplateSyntaxError("it includes another file; a beginning that prompts share is their `opening`", 1)
    return frozenset(meta.find_undeclared_variables(parsed))


@cache
def compiled(source: str) -> "Template":
    """Return a template, compiled once."""
    template = _environment().from_string(source)
    template.globals = dict(template.globals)  # a plain dict is faster than the chain of dictionaries at each rendering
    return template


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
    filters = (age, fence, in_series, listed, on_one_line, titled)
    environment.filters |= {one.__name__: one for one in filters}
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment
