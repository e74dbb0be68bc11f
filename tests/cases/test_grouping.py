from cases.grouping import grouped, repetitions


def test_values_are_grouped_by_key_both_in_the_order_in_which_they_come() -> None:
    found = grouped([("b", 1), ("a", 2), ("b", 3)])
    assert list(found.items()) == [("b", [1, 3]), ("a", [2])]
    assert grouped([]) == {}


def test_what_occurs_more_than_once_is_counted() -> None:
    assert list(repetitions(["b", "a", "c", "a", "b", "a"]).items()) == [("b", 2), ("a", 3)]
    assert repetitions("abc") == {}
