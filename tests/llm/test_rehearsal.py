"""A rehearsal: prompts are built, nobody is asked, and usage is estimated."""

from pathlib import Path

from llm import ModelSettings
from llm.rehearsal import PICTURE_TOKENS, rehearsing
from tests.llm.examinee import OFFLINE_OPINION, put

PICTURE = Path(__file__).parents[2] / "cases" / "builtin" / "images" / "surgery-01.png"


async def test_a_picture_counts_as_one_however_large_its_file() -> None:
    settings = ModelSettings(models={"default": "openai:any"})
    with rehearsing():
        (answer, blind), (_, seeing) = await put(settings), await put(settings, pictures=[str(PICTURE)] * 2)
    assert answer == OFFLINE_OPINION
    assert seeing.input_tokens == blind.input_tokens + 2 * PICTURE_TOKENS
