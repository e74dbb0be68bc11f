from cases.text.numbers import spoken_numbers


def test_ordinals_of_tens_are_read_as_spoken() -> None:
    text = "It was on the forty fifth day, or the ninetieth hour"
    assert {run: readings[0] for run, readings in spoken_numbers(text)}["forty fifth"] == {45}
    assert [readings[0] for _, readings in spoken_numbers("one hundred and fiftieth")] == [{150}]
