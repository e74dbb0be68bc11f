"""A case's prompts stay short and share their beginnings, however the words in them change."""

import pytest

from benchmarks.prompt_tokens import measure, shared_prefixes, tokens_of
from tests.graphs.scripting import builtin


def test_the_shared_prefix_of_a_prompt_is_the_longest_that_opens_an_earlier_one() -> None:
    assert shared_prefixes(["abcd", "abxy", "zz", "abxd", "abcdef"]) == [0, 2, 0, 3, 4]


@pytest.mark.slow
@pytest.mark.parametrize(("case_id", "most"), [("otolaryngology-01", 60_000), ("surgery-06", 74_000)])
def test_a_case_costs_few_tokens_of_which_most_open_an_earlier_prompt(case_id: str, most: int) -> None:
    """Word pieces; in Chinese one a character, of which chat models' own tokenizers make 0.7 to 0.85."""
    calls = measure([builtin(case_id)], tokens_of())
    assert len(calls) > 60
    assert calls.tokens.sum() <= most
    assert calls.shared.sum() >= 0.75 * calls.tokens.sum()
