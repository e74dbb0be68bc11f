"""Charts are put into the mouth of the patient, or the family, without a change of what they say."""

from typing import Any

import pytest

from nodes.reconstruction.lay_speech import spoken, told_to
from nodes.reconstruction.voice import Voice

SHE, HE = Voice("en", "self", "female"), Voice("en", "self", "male")
SON, MOTHER = Voice("en", "son", "male"), Voice("en", "relative", "female")


@pytest.mark.parametrize(
    ("section", "chart", "voice", "said"),
    [
        ("chief_complaint", "Crying at night", SON, "My son has been crying at night."),
        ("chief_complaint", "Swelling of the knee", SON, "My son has swelling of the knee."),
        ("present_illness", "The patient reports a 2-week history of fever.", SHE, "For 2 weeks now I have had fever."),
        ("present_illness", "She notes that it is worse at night.", SHE, "It is worse at night."),
        ("present_illness", "He denies any chest pain or cough.", HE, "I have not had any chest pain or cough."),
        ("present_illness", "Other symptoms: Patient shows irritability; Uses contact lenses", SHE,
         "I have also had irritability. I use contact lenses."),
        ("present_illness", "He also denies any chest pain.", HE, "I have not had any chest pain."),
        ("present_illness", "He denies any chest pain.", SON, "My son has not had any chest pain."),
        ("present_illness", "She also reports nausea.", MOTHER, "My relative has had nausea."),
        ("present_illness", "On questioning she works at night.", SHE, "I work at night."),
        ("personal_history", "Patient denies the use of tobacco.", SHE, "I do not use tobacco."),
        ("personal_history", "He does not smoke and seldom exercises.", HE, "I do not smoke and seldom exercise."),
        ("personal_history", "Non-smoker, occasional alcohol use.", HE,
         "I do not smoke, and drink alcohol occasionally."),
        ("personal_history", "Non-smoker, does not consume alcohol.", HE, "I do not smoke and do not consume alcohol."),
        ("personal_history", "Currently smokes 1 pack of cigarettes per day and drinks a glass of wine daily.", HE,
         "I currently smoke 1 pack of cigarettes per day and drink a glass of wine daily."),
        ("present_illness", "He feels cords, which he describes as a bag of worms.", HE,
         "I feel cords, which I describe as a bag of worms."),
        ("past_history", "Medications: Enalapril, Metformin.", HE, "I take Enalapril, Metformin."),
        ("past_history", "On metformin and insulin.", HE, "I am on metformin and insulin."),
        ("past_history", "Hypertension, Hyperlipidemia; Graves disease.", HE,
         "I have had high blood pressure, high blood fats; Graves disease."),
        ("present_illness", "On and off headache.", HE, "On and off headache."),
        ("person", "患者，女，30岁", Voice("zh", "self", "female"), ""),
        ("present_illness", "A week ago the mother noticed a rash.", SON, "A week ago I noticed a rash."),
        ("present_illness", "He has pain and takes aspirin.", HE, "I have pain and take aspirin."),
        ("personal_history", "He does not smoke and brushes twice a day.", HE, "I do not smoke and brush twice a day."),
        (
            "present_illness",
            "He avoids the road where it happened, has not driven since and leaves the room at the sight of cars.",
            HE,
            "I avoid the road where it happened, have not driven since and leave the room at the sight of cars.",
        ),
        ("present_illness", "Mood is low and she no longer enjoys sewing.", SHE,
         "Mood is low and I no longer enjoy sewing."),
        ("personal_history", "They found no fault of his, and he sleeps.", HE,
         "They found no fault of mine, and I sleep."),
        ("family_history", "父母体健，否认家族血液病史。", Voice("zh", "self", "female"),
         "父母身体挺好，家里没有人有血液病。"),
        ("present_illness", "His wife says he snores.", HE, "My wife says I snore."),
        ("present_illness", "Other symptoms: Nausea; Dizziness; No fever.", HE,
         "I have also had nausea and dizziness. No fever."),
        ("present_illness", "This is a 68-year-old white man who fell at work.", HE, "I fell at work."),
        ("personal_history", "He lives with his wife, who is 30 weeks pregnant.", HE,
         "I live with my wife, who is 30 weeks pregnant."),
        ("chief_complaint", "A 40-year-old man with asthma comes with his wife, who is pregnant.", HE,
         "I have asthma and I have come with my wife, who is pregnant."),
        ("chief_complaint", "A 61-year-old man with gout comes to the physician because of a cough.", HE,
         "I have gout and I have come because of a cough."),
        ("chief_complaint", "A 19-year-old college student presents with a sore throat.", SHE,
         "I am a college student and I have come in with a sore throat."),
        ("chief_complaint", "58 yo M c/o chest pressure x 3 days.", HE, "I have chest pressure for 3 days."),
        ("chief_complaint", "82F, retired, fell 1 wk ago.", SHE, "I am retired, fell 1 week ago."),
        ("chief_complaint", "Pt is 19 y/o college student w/ 2 wks of cough.", HE,
         "I am a college student and I have 2 weeks of cough."),
        ("present_illness", "Ms. Okafor is a 27 year old nurse who twisted her ankle.", SHE,
         "I am a nurse and I twisted my ankle."),
        ("chief_complaint", "Thank you for seeing Mr. Price, a 52-year-old plumber, who has had a cough.", HE,
         "I am a plumber and I have had a cough."),
        ("chief_complaint", "22 y.o. female with a cough.", SHE, "I have a cough."),
        ("present_illness", "He stopped the w/u, w/c bound w/ pain.", HE, "I stopped the w/u, w/c bound with pain."),
        ("chief_complaint", "97F with a cough.", SHE, "I have a cough."),
        ("chief_complaint", "101 F fever since yesterday.", SHE, "I have a 101 F fever since yesterday."),
        ("chief_complaint", "A 45-year-old teacher with cough presents with fever.", SHE,
         "I am a teacher with cough and I have come in with fever."),
        ("past_history", "HTN, T2DM.", HE, "I have had high blood pressure, type 2 diabetes."),
        ("family_history", "Father with MI at 54.", HE, "My father had heart attack at 54."),
        ("family_history", "Mother alive and well.", HE, "My mother alive and well."),
        ("family_history", "Brother in good health.", HE, "My brother in good health."),
        ("family_history", "Father unremarkable.", HE, "My father unremarkable."),
        ("present_illness", "His father took him to the clinic; mother noticed a rash.", SON,
         "I took him to the clinic; mother noticed a rash."),
        ("present_illness", "Mother gave ibuprofen.", SON, "I gave ibuprofen."),
        ("person", "45-year-old accountant, referred by her GP.", SHE, ""),
        ("past_history", "Nickel gives her eczema.", SHE, "Nickel gives me eczema."),
        ("past_history", "She gave her mother a kidney.", SHE, "I gave my mother a kidney."),
        ("chief_complaint", "For a week I have had spots on my palms and soles that do not itch.", HE,
         "For a week I have had spots on my palms and soles that do not itch."),
        ("past_history", "Delivered vaginally at 39 weeks.", SON, "My son was delivered vaginally at 39 weeks."),
        ("past_history", "Newborn, no past medical history available.", SON, ""),
        ("present_illness", "The mother reports having had no prenatal care.", SON, "I had no prenatal care."),
        ("past_history", "Her health is good except for the above-mentioned problems.", SHE,
         "My health is good except for these problems."),
        ("present_illness", "Other symptoms: Lost 5 kg; Nausea; No fever.", HE,
         "I have also had nausea. I lost 5 kg. No fever."),
        ("chief_complaint", "患者，男，52岁，因胸痛3天就诊。", Voice("zh", "self", "male"), "我是因为胸痛3天来的。"),
        ("present_illness", "It bothers her and wakes her at night.", SHE, "It bothers me and wakes me at night."),
        ("present_illness", "He became short of breath at once and now has to stop.", HE,
         "I became short of breath at once and now have to stop."),
        ("present_illness", "It bleeds when he dries his face, then forms a scab.", HE,
         "It bleeds when I dry my face, then forms a scab."),
        ("present_illness", "He has tried a diet, and exercises from a leaflet did not help.", HE,
         "I have tried a diet, and exercises from a leaflet did not help."),
        ("present_illness", "She has an itch at the eyes and sausages made it worse.", SHE,
         "I have an itch at the eyes and sausages made it worse."),
        ("present_illness", "She denies fever, cough and itching.", SHE, "I have not had any fever, cough or itching."),
        ("personal_history", "She does not smoke and is left-handed.", SHE, "I do not smoke and am left-handed."),
        ("personal_history", "A widower, he lives alone and usually tends a garden.", HE,
         "A widower, I live alone and usually tend a garden."),
        ("present_illness", "Other symptoms: Rash on the arm; Lesion has grown; Not painful; History of asthma.", HE,
         "I have also had a rash on the arm and a history of asthma. The lesion has grown. Not painful."),
        ("present_illness", "She mentions she recently moved.", SHE, "I recently moved."),
        ("present_illness", "He reports being treated for reflux 2 years ago.", HE,
         "I was treated for reflux 2 years ago."),
        ("present_illness", "He reports being sexually active.", HE, "I am sexually active."),
        ("present_illness", "She describes the stools are loose.", SHE, "The stools are loose."),
        ("present_illness", "He tried a diet but hasn't noticed a change.", HE,
         "I tried a diet but haven't noticed a change."),
        ("present_illness", "The patient appears anxious.", HE, ""),
        ("present_illness", "The child appears ill.", SON, "My son appears ill."),
        ("present_illness", "The patient's daughter saw a red patch.", MOTHER, "Her daughter saw a red patch."),
        ("present_illness", "Her daughter saw a red patch.", MOTHER, "Her daughter saw a red patch."),
        ("present_illness", "The patient comes back to see me today.", SHE, "I come back to see you today."),
        ("present_illness", "She is a 77-year-old female who had seen Dr. X with leg pain.", SHE,
         "I had seen Dr. X with leg pain."),
        ("present_illness", "A previously healthy 19-year-old student comes to the clinic with a fever.", SHE,
         "I am a student and I have come with a fever."),
        ("present_illness", "The hip injection helped her briefly with her pain.", SHE,
         "The hip injection helped me with my pain."),
        ("present_illness", "Other symptoms: Tingling; Absent reflexes.", SHE, "I have also had tingling."),
        ("present_illness", "The child is a well-developed baby.", SON, ""),
        ("present_illness", "Two weeks ago, he had seen the patient and was well.", HE, ""),
        ("present_illness", "She realizes that it is worse.", SHE, "I realize that it is worse."),
        ("present_illness", "He had a temperature of 38.2 °C today.", HE, "I had a temperature of 38.2 °C today."),
        ("present_illness", "Temperature of 37.1 °C, pulse of 145/min.", SON, ""),
        ("present_illness", "She stayed with her family for a week.", SHE, "I stayed with my family for a week."),
        ("family_history", "She had a brother who died.", SHE, "I had a brother who died."),
        ("past_history", "Born at term.", SON, "My son was born at term."),
        ("past_history", "Tramadol made her dizzy and sick.", SHE, "Tramadol made me dizzy and sick."),
        ("past_history", "No other significant medical history.", SHE, "Otherwise I have not had any serious illness."),
        ("personal_history", "Non-smoker, drinks alcohol socially.", SHE, "I do not smoke but drink alcohol socially."),
        ("past_history", "Migraine used to bother her until 45.", SHE, "Migraine used to bother me until 45."),
        ("family_history", "家族中无类似皮肤病患者。", Voice("zh"), "家里没有人有类似皮肤病。"),
        ("present_illness", "患者咳嗽。", Voice("zh"), "我咳嗽。"),
        ("present_illness", "患者咳嗽，叫他不应。", Voice("zh", "relative", "male"), "他咳嗽，叫他不应。"),
        ("present_illness", "No other system review was mentioned.", HE, ""),
        ("chief_complaint", "Fall", HE, "I have had a fall."),
        ("chief_complaint", "Itchy rash on the left arm", HE, "I have an itchy rash on the left arm."),
        ("past_history", "Treated for uveitis last year.", HE, "I was treated for uveitis last year."),
        ("medications", "Insulin; Aspirin.", HE, "I take insulin, aspirin."),
        ("family_history", "Family history includes stroke.", HE, "There is stroke in the family."),
        ("present_illness", "Underwent surgery 12 weeks prior.", HE, "I underwent surgery 12 weeks ago."),
        (
            "present_illness",
            "The patient was brought in by his mother for a well-child visit.",
            Voice("en", "son", "male"),
            "I have brought my son for a well-child visit.",
        ),
        (
            "present_illness",
            "Other symptoms: Increasing sleepiness; Appears ill.",
            Voice("en", "son", "male"),
            "There has also been increasing sleepiness. My son appears ill.",
        ),
        ("personal_history", "Retired school teacher.", HE, "I am a retired school teacher."),
        ("personal_history", "Retired teacher, lives with his wife.", HE, "I am a retired teacher, live with my wife."),
        ("personal_history", "Recently retired accountant.", HE, "I am a recently retired accountant."),
        ("personal_history", "Engineer by profession.", HE, "I am an engineer by profession."),
        (
            "personal_history",
            "Non-smoker, drinks alcohol socially, retired school teacher.",
            HE,
            "I do not smoke but drink alcohol socially, and I am a retired school teacher.",
        ),
        ("chief_complaint", "Dyspnea and cough", HE, "I have shortness of breath and cough."),
        ("past_history", "1. Hypertension.", HE, "I have had high blood pressure."),
        ("past_history", "Noncontributory.", HE, "No, I have not had any serious illness before."),
        ("past_history", "Insignificant.", HE, "No, I have not had any serious illness before."),
        ("present_illness", "A neurologist examined her last week.", SHE, "A neurologist examined me last week."),
        (
            "present_illness",
            "Other symptoms: Pain worsens after eating; No significant past medical history; Non-smoker.",
            HE,
            "The pain worsens after eating. No, I have not had any serious illness before. I do not smoke.",
        ),
        ("present_illness", "Stairs made her pant, but rest helped.", SHE, "Stairs made me pant, but rest helped."),
        ("present_illness", "The heat makes her sweat.", SHE, "The heat makes me sweat."),
        ("present_illness", "A bruise left her afraid of pain.", SHE, "A bruise left me afraid of pain."),
        ("present_illness", "There was no palpitation.", SHE, "There was no pounding heart."),
        ("present_illness", "The patient reports noticing a lump 3 weeks ago.", SHE, "I noticed a lump 3 weeks ago."),
        ("present_illness", "Additionally, she vomited.", SHE, "I vomited."),
        ("personal_history", "Works as a nurse, no recent travel.", SHE, "I work as a nurse, with no recent travel."),
        ("present_illness", "She has no fever, no cough.", SHE, "I have no fever, no cough."),
        ("allergies", "NKDA.", HE, "No, I am not allergic to anything that I know of."),
        ("medications", "Aspirin and metformin.", HE, "I take aspirin and metformin."),
        ("personal_history", "Unremarkable except for ETOH abuse.", HE, "Alcohol abuse."),
        ("family_history", "Positive for stroke.", HE, "There is stroke in the family."),
        ("family_history", "Father died. He smoked.", HE, "My father died. He smoked."),
        ("personal_history", "Non-smoker, drinks wine.", SHE, "I do not smoke but drink wine."),
        ("present_illness", "His mother reports that he has a fever.", SON, "He has a fever."),
        ("present_illness", "The patient was brought in by his mother.", SON, "I have brought my son."),
        ("person", "35-year-old female, nurse.", SHE, "I work as a nurse."),
        ("person", "20-year-old male, university student.", HE, "I am a university student."),
        ("person", "81-year-old woman with advanced dementia, unable to give history.", SHE, ""),
        ("person", "45-year-old man, right-handed.", HE, ""),
        ("person", "10-month-old male, infant.", SON, "My son is an infant."),
        ("person", "7岁，男，小学生。", Voice("zh", "son", "male"), "孩子是小学生。"),
    ],
)  # fmt: skip
def test_a_sentence_of_a_chart_is_said_as_people_say_it(section: str, chart: str, voice: Voice, said: str) -> None:
    assert spoken(chart, section, voice) == said


def test_a_physician_tells_a_finding_to_the_patient() -> None:
    assert (
        told_to("2.  GENERAL:  She was tired, and her arm is sore.", SHE)
        == "General: You were tired, and your arm is sore."
    )
    assert told_to("She also was up-to-date.", SHE) == "You also were up-to-date."
    assert told_to("He sits upright and speaks in short phrases.", HE) == "You sit upright and speak in short phrases."
    told = told_to("She had no fever, and otherwise has been doing well.", SHE)
    assert told == "You had no fever, and otherwise have been doing well."
    assert told_to("I saw that her arm is sore.", SHE) == "I saw that her arm is sore."  # "I" is the physician
    assert told_to("pH 5.5, protein trace.", SHE) == "pH 5.5, protein trace."
    assert told_to("右鼓膜内陷，可见液平；", Voice("zh", "self")) == "右鼓膜内陷，可见液平。"


@pytest.mark.parametrize(
    "chart",
    ["This is concerning for glioma.", "I discussed this with the family.", "Not provided.", "On exam, tender."],
)
def test_what_only_a_clinician_would_say_stays_unsaid(chart: str) -> None:
    assert spoken(chart, "present_illness", HE) == ""


@pytest.mark.parametrize(
    ("kin", "chart", "said"),
    [
        ("self", "患者3天前无明显诱因出现心悸，无发热。", "我3天前没有明显的原因出现心慌，没有发热。"),
        ("self", "家人给他口服氯雷他定，他未服其他药。", "家里人给我口服氯雷他定，我没服其他药。"),
        ("self", "他无发热，尚未做超声。", "我没有发热，还没做超声。"),
        ("self", "否认药物过敏史", "没有药物过敏。"),
        ("child", "患儿系足月顺产。", "孩子是足月顺产。"),
        # Denials within a clause, and words that only begin with the sign of one.
        (
            "self",
            "病程中无发热、无皮疹，尿量无减少，四肢无力，无业。",
            "没有发热、没有皮疹，尿量没有减少，四肢无力，无业。",
        ),
        ("self", "未发热，从未用过药，未婚，自行停止，骑自行车。", "没发热，从未用过药，未婚，自己停止，骑自行车。"),
        ("self", "父母均无手抖，平均血压正常。", "父母都没有手抖，平均血压正常。"),
        # A history is an illness that one has.
        ("self", "有高血压病史8年，否认糖尿病病史、肝病史。", "有高血压病8年了，没有糖尿病病史、肝病。"),
        ("self", "无肝炎病史，无癫痫和颤抖病史。", "没有肝炎，没有癫痫和颤抖病史。"),
        (
            "self",
            "无手术和输血史，无农药接触史，无下肢骨折和手术史。",
            "没做过手术，也没输过血，没有接触过农药，没有下肢骨折，也没做过手术。",
        ),
        (
            "self",
            "10年前行肾移植，行动不便，两岁时患肺炎，患高血压。",
            "10年前做过肾移植，行动不便，两岁时得了肺炎，有高血压。",
        ),
        ("self", "无遗传性耳聋家族史，家族中无特殊病史。", "家里没有人有遗传性耳聋，家里人没什么特殊的病。"),
        ("self", "兄弟姐妹身体健康。", "兄弟姐妹身体健康。"),
        # What women are asked: a period's length is no time at which it comes.
        (
            "self",
            "13岁初潮，经期5至6天，末次月经为47天前，孕2产1。",
            "13岁第一次来月经，每次来5至6天，上次来月经是47天前，怀过2次孕，生过1个孩子。",
        ),
        (
            "self",
            "经期腹痛，非经期无出血，已绝经6年，育有一女。",
            "来月经的时候腹痛，不来月经的时候没有出血，不来月经6年了，有一个女儿。",
        ),
        # Two symptoms in a word each.
        ("self", "无尿频尿痛，寒战高热，伴头晕耳鸣。", "没有小便次数多、小便疼，打冷战、高热，还有头晕、耳朵嗡嗡响。"),
        ("self", "偶饮红酒，不吸烟，多饮，饮食正常。", "偶尔喝红酒，不抽烟，多饮，饮食正常。"),
        # Who speaks for a child says "we", and "she" of it.
        (
            "child",
            "近两个月家长发现她走神，同学说其腿粗，家属制止。",
            "近两个月我们发现她走神，同学说孩子腿粗，我们制止。",
        ),
        ("self", "家属挤捏过尿管，其边缘清楚。", "家里人挤捏过尿管，其边缘清楚。"),
        # Who brings a child says so; a name and an age are no complaint.
        ("child", "患儿因发热2天由母亲抱来就诊。", "孩子是因为发热2天我抱来的。"),
        ("child", "母亲诉：患儿昨日受凉。", "孩子昨日受凉。"),
        ("self", "张女士，29岁，孕32周。", "孕32周。"),
        ("child", "患儿，女，3岁2月，奶奶发现咳嗽。", "孩子奶奶发现咳嗽。"),
        ("self", "3.既往有冠心病史6年。", "既往有冠心病6年了。"),
        ("self", "患者男，35岁，程序员。", "我是程序员。"),
        ("self", "患者症状再次发生。", "我症状再次发生。"),
        ("self", "患者咨询医师。", "我咨询医师。"),
        ("self", "患者，女，45岁，昨日突然发生。", "我昨日突然发生。"),
        ("self", "父亲患胃癌去世。", "父亲得胃癌去世。"),
        ("self", "母亲患过敏性鼻炎，父亲患过肺炎。", "母亲有过敏性鼻炎，父亲得过肺炎。"),
        ("self", "无诱因阴道流液。", "没什么原因就阴道流液。"),
    ],
)
def test_chinese_charts_too(kin: Any, chart: str, said: str) -> None:
    assert spoken(chart, "present_illness", Voice("zh", kin)) == said
