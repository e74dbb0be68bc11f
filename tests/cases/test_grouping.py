from cases.grouping import grouped


def test_values_are_grouped_by_key_both_in_the_order_in_which_they_come() -> None:
    found = grouped([("b", 1), ("a", 2), ("b", 3)])
    assert list(found.items()) == [("b", [1, 3]), ("a", [2])]
    assert grouped([]) == {}
