"""How long 150 AIE transcripts take to be scored, on one core, from the file to the estimates.

    taskset -c 0 python -m benchmarks.aie_scoring [--transcripts 150] [--seed 0]

Generated transcripts as long as the published ones: records of 900 characters or 250 words, up to 12 turns, doctors'
turns of 80 characters or 60 words. Each language and definition is measured in a process of its own, so that loading
jieba's dictionary and the stemmer is counted. Exit status 1 if one takes longer than 20 seconds.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

ALLOWED = 20.0
ACTIONS = ("A-A-A", "A-A-B", "A-B", "B-A-A", "B-A-B", "B-B", "C", "D")
ENGLISH = re.findall(
    r"\w+",
    """
    patient presents with severe persistent abdominal pain radiating towards back accompanied by nausea vomiting fever
    examination showed tenderness guarding elevated leukocytes amylase computed tomography reveals inflammation history
    hypertension diabetes smoking medication allergies denied previous surgery appendectomy breathing difficulties
    """,
)
CHINESE = re.findall(
    r"\S+",
    """
    患者 三天 前 无 明显 诱因 出现 腹痛 呈 持续性 伴 恶心 呕吐 发热 体温 最高 三十九 度 无 寒战 咳嗽 查体 腹部
    压痛 反跳痛 血常规 白细胞 升高 腹部 超声 提示 胆囊 结石 既往 高血压 糖尿病 病史 否认 药物 过敏 手术 吸烟 。 ， 、
    """,
)


def transcripts(number: int, chinese: bool, seed: int) -> list[dict[str, Any]]:
    """Transcripts of realistic length."""
    draw = random.Random(seed)

    def text(words: int) -> str:
        chosen = draw.choices(CHINESE if chinese else ENGLISH, k=words)
        return "".join(chosen) if chinese else " ".join(chosen) + "."

    def turn(state: str) -> dict[str, str]:
        said = {"doctor": text(40 if chinese else 60), "state": state}
        return said if state == "E" else {**said, "patient": text(30 if chinese else 25)}

    return [
        {
            "id": place,
            "raw_data": {
                "question": text(450 if chinese else 250),
                "options": dict.fromkeys("ABCDE", "disease"),
                "answer_idx": draw.choice("ABCDE"),
            },
            "history": [turn("O"), *(turn(draw.choice(ACTIONS)) for _ in range(draw.randint(6, 10))), turn("E")],
            "diagnosis": draw.choice("ABCDE"),
        }
        for place in range(number)
    ]


def main(number: Annotated[int, typer.Option("--transcripts")] = 150, seed: int = 0) -> None:
    """Generate, score, time."""
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for language in ("zh", "en"):
            file = Path(folder, f"{language}.json")
            content = transcripts(number, language == "zh", seed)
            file.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
            for mode in ("sound", "paper"):
                start = time.perf_counter()
                program = "from wardround.cli import main; main()"
                command = [sys.executable, "-c", program, "score", "aie", str(file), "--mode", mode]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds = time.perf_counter() - start
                slowest = max(slowest, seconds)
                print(f"{language} {mode}: {seconds:.1f} s for {number} transcripts")
    raise typer.Exit(slowest > ALLOWED)


if __name__ == "__main__":
    typer.run(main)
