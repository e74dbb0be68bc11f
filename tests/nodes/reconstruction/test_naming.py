"""A disease is named by its name, another name, or its initials, and suspected under everyday names."""

from nodes.reconstruction.naming import names_disease, suspects_disease


def test_initials_of_a_disease_are_told_from_a_word() -> None:
    leukemia = ["Acute lymphoblastic leukemia"]
    assert not names_disease("How did it all go?", leukemia)
    assert names_disease("Is it ALL, doctor?", leukemia) and names_disease("考虑ALL。", leukemia)


def test_a_suspicion_needs_a_word_of_it_and_a_name_that_people_say() -> None:
    diabetes = ["Type 2 diabetes mellitus"]
    assert suspects_disease("I think it may be diabetes.", diabetes, "en")
    assert not suspects_disease("Has anybody in the family diabetes?", diabetes, "en")
    assert not suspects_disease("I think it may be asthma.", diabetes, "en")


def test_who_suspects_one_of_two_diseases_suspects_each_and_no_other() -> None:
    diabetes = ["Type 2 diabetes mellitus"]
    assert suspects_disease("I think it may be asthma or diabetes.", diabetes, "en")
    assert suspects_disease("可能是哮喘或糖尿病。", ["2型糖尿病"], "zh")
    assert not suspects_disease("I think it may be asthma, but it is not diabetes.", diabetes, "en")
    assert not suspects_disease("可能是哮喘，不是糖尿病。", ["2型糖尿病"], "zh")


def test_a_suspicion_is_heard_in_the_usual_chinese_words() -> None:
    for text in ("我怀疑是糖尿病。", "医生，我认为这就是糖尿病吧？", "恐怕是糖尿病了。"):
        assert suspects_disease(text, ["2型糖尿病"], "zh"), text
    assert not suspects_disease("您家里有人得糖尿病吗？", ["2型糖尿病"], "zh")
