"""What CliniChat's physician says without a model: the history in order, the results, the diagnosis step by step."""

from collections.abc import Sequence

from cases.vocabulary import Language, label
from nodes.offline.votes import majority, weights
from nodes.state.chart import Chart
from nodes.state.decisions import Diagnosis
from nodes.workflow.stages import AUXILIARY, DIAGNOSIS
from retrieval import Neighbour

_QUESTIONS: dict[Language, tuple[str, ...]] = {
    "en": (
        "Hello, what brings you here today?",
        "When did it begin, and how has it changed since?",
        "Where exactly is it, and what does it feel like?",
        "How severe is it, and what makes it better or worse?",
        "What do you think caused it, and has it happened before?",
        "Have you noticed any other symptoms?",
        "Have you seen a doctor or tried any treatment for it?",
        "How are your appetite, your sleep and your weight?",
        "What illnesses or operations have you had before?",
        "Which medicines do you take, and do you have any allergies?",
        "Are your vaccinations up to date?",
        "Do you smoke or drink alcohol?",
        "What is your work, and how do you live at home?",
        "Are there illnesses that run in your family?",
    ),
    "zh": (
        "您好，今天哪里不舒服？",
        "什么时候开始的？之后有什么变化？",
        "具体在什么部位？是什么样的感觉？",
        "有多厉害？什么情况下会加重或缓解？",
        "您觉得是什么原因引起的？以前有过吗？",
        "还有其他不舒服吗？",
        "为此看过医生或用过什么治疗吗？",
        "食欲、睡眠和体重怎么样？",
        "以前得过什么病或做过手术吗？",
        "在用什么药？有没有过敏？",
        "疫苗接种过了吗？",
        "您抽烟或喝酒吗？",
        "您做什么工作？家里情况怎么样？",
        "家里人有类似的病或遗传病吗？",
    ),
}
_RESULTS: dict[Language, str] = {
    "en": "Could you give me the results of the examinations and tests that you have had?",
    "zh": "您做过的体格检查和其他检查，能告诉我结果吗？",
}
_STEPS: dict[Language, tuple[str, ...]] = {
    "en": (
        "From what I know, I suspect {disease}.",
        "{disease} needs medical care without delay; how serious it is depends on its course.",
        "{others} would also come into question.",
        "To confirm it, please have these tests done as soon as possible: {tests}.",
    ),
    "zh": (
        "根据目前的情况，我怀疑是{disease}。",
        "{disease}需要及时诊治，严重程度要看病情的发展。",
        "还要考虑{others}。",
        "为了确诊，请尽快做这些检查：{tests}。",
    ),
}
_NO_OTHER: dict[Language, str] = {"en": "A similar disease", "zh": "其他类似的疾病"}


def interview_to_the_plan(chart: Chart, neighbours: Sequence[Neighbour], turns_left: int) -> tuple[str, bool]:
    """The next words, and whether they are the last: the history, the results, then the four steps of the diagnosis.

    The history is cut short where the turns would not do for the rest.
    """
    language = chart.presentation.language
    spoken = [turn.text for turn in chart.dialogue if turn.speaker == "doctor"]
    rest = [_RESULTS[language], *_diagnosis(chart, neighbours, language)]
    asked = sum(text in _QUESTIONS[language] for text in spoken)
    told = len(spoken) - asked
    if not told and asked < len(_QUESTIONS[language]) and turns_left > len(rest) + 1:  # the last word has no reply
        return _QUESTIONS[language][asked], False
    return rest[min(told, len(rest) - 1)], told >= len(rest)


def _diagnosis(chart: Chart, neighbours: Sequence[Neighbour], language: Language) -> list[str]:
    """What similar cases had, or what a result names, and what was examined there."""
    found = majority(DIAGNOSIS, chart, neighbours, (), None)
    assert isinstance(found, Diagnosis)
    joint = "、" if language == "zh" else ", "
    names = list(weights(DIAGNOSIS, neighbours))
    others = [name for name in names if name not in found.names][:3]
    tests = list(weights(AUXILIARY, neighbours))[:3] or ["Blood Test"]
    filled = {
        "disease": found.names[0],
        "others": joint.join(others) or _NO_OTHER[language],
        "tests": joint.join(label(test, language) for test in tests),
    }
    return [step.format(**filled) for step in _STEPS[language]]
