"""Interviews made by hand, in both languages: one that asks for all a rule can see, and one for little."""

from pathlib import Path

from cases.dialogues import Dialogue, Message

NOTE = {
    "en": "A 52-year-old man has had chest pain for two hours. He smokes. Temperature is 36.9 C. "
    "Blood pressure is 165/95 mm Hg. An electrocardiogram shows ST elevation in V1 to V4.",
    "zh": "52岁男性，胸痛两小时。吸烟。体温36.9℃。血压165/95mmHg。心电图示V1至V4导联ST段抬高。",
}
_GOOD_EN = """Hello, how can I help you today?|My chest hurts.
How old are you, and what is your job?|52, a driver.
When did it begin, and how long does it last?|Two hours ago, all the time.
Where exactly is it, and what does it feel like?|In the middle, like a weight.
How severe is it from 1 to 10, and what makes it better or worse?|Eight; nothing helps.
What do you think caused it, and has it been changing since then?|I carried a heavy box; it got worse.
Have you seen a doctor, or tried any treatment?|No.
How are your appetite and sleep?|Fine until today.
What illnesses have you had in the past, and any operations?|High blood pressure, no operation.
How was that treated, and is it under control?|With tablets.
Which medicines do you take, and do you have any allergies?|One tablet a day, no allergies.
Do you take anything without a prescription?|No.
Are your vaccinations up to date?|Yes.
Have you had a fever, a cough or trouble with breathing?|No.
Do you feel sick, and is passing water as usual?|A bit sick.
Do you smoke or drink?|Twenty cigarettes a day.
How is your diet, and how do you live at home?|Alone, I eat what I find.
Is there heart disease in your family?|My father had a heart attack.
Could you give me your test results?|FINDINGS
I suspect a heart attack. You need care in hospital immediately.|Is it serious?
Yes, but it can be treated well. Your blood has to be tested for heart enzymes now.|All right, thank you."""
_BAD_EN = (
    "Any dyspnea? Any syncope? Any claudication?|No.\nAny dyspnea? Any syncope? Any claudication?|I said no.\n"
    + "You had better rest, eat well and think of other things, because "
    + "it is good for everybody to rest and to eat well and to think of other things now and then, " * 3
    + "as I tell all who come here.|I see."
)
_GOOD_ZH = """您好，哪里不舒服？|胸口痛。
您多大年龄？做什么工作？|52岁，司机。
什么时候开始的？持续多久了？|两小时前，一直痛。
具体在什么部位？是什么样的感觉？|胸口正中，像压着东西。
有多厉害？什么情况下会加重或缓解？|很厉害，怎么都不缓解。
您觉得是什么原因引起的？之后有什么变化？|搬了重箱子，越来越重。
看过医生或做过治疗吗？|没有。
食欲和睡眠怎么样？|以前都好。
以前得过什么病？做过手术吗？|高血压，没做过手术。
当时怎么治疗的？控制得好吗？|吃药。
现在用药吗？有没有过敏？|每天一片，不过敏。
有没有自己买保健品吃？|没有。
疫苗接种过吗？|接种过。
有没有发热、咳嗽？|没有。
恶心吗？小便正常吗？|有点恶心。
抽烟喝酒吗？|每天一包烟。
平时饮食怎么样？和谁住在一起？|一个人住。
家里人有心脏病吗？|父亲有过心梗。
检查结果能告诉我吗？|FINDINGS
我怀疑是心梗，您要立即住院。|严重吗？
可以治好，现在需要抽血查心肌酶。|好的，谢谢。"""
_BAD_ZH = (
    "有发绀吗？有晕厥吗？有反跳痛吗？|没有。\n有发绀吗？有晕厥吗？有反跳痛吗？|说过没有。\n"
    + "您回去休息，吃好一点，想点别的事情，" * 6
    + "大家都是这样的。|知道了。"
)
_TALKS = {("en", True): _GOOD_EN, ("en", False): _BAD_EN, ("zh", True): _GOOD_ZH, ("zh", False): _BAD_ZH}


def interview(language: str, good: bool, **more: object) -> Dialogue:
    said = _TALKS[language, good].replace("FINDINGS", NOTE[language])
    rounds = [line.split("|") for line in said.split("\n")]
    messages = [
        Message(role=role, content=text)
        for physician, patient in rounds
        for role, text in (("assistant", physician), ("user", patient))
    ]
    given: dict[str, object] = {
        "id": f"{language}-{'good' if good else 'bad'}",
        "messages": messages,
        "note": NOTE[language],
        "language": language,
        "department": "Cardiology" if good else "Neurology",
        "diseases": ["Myocardial infarction" if language == "en" else "心肌梗死"],
        **more,
    }
    return Dialogue.model_validate(given)


def dialogue_file(path: Path, *dialogues: Dialogue) -> Path:
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in dialogues), encoding="utf-8")
    return path
