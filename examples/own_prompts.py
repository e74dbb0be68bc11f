"""Custom prompts: the task of the diagnosis in other words, compared with the built-in one.

    wardround run --prompts examples/own_prompts --limit 2
    python examples/own_prompts.py openai:gpt-4o-mini

A file in the folder replaces the built-in prompt of the same name, `LANGUAGE/SYSTEM/NAME.md`, and may use only that
prompt's variables. The manifest has the hash of every prompt: a run cannot be resumed after one of them has changed.
"""

import json
import sys
from pathlib import Path

import wardround as wr

FOLDER = Path(__file__).with_name("own_prompts")


def main(spec: str = "offline", out: str = "runs/own_prompts") -> None:
    """Run two cases with the built-in and with the custom prompts, and print both side by side."""
    experiment = {"data": {"limit": 2}, "models": {"default": spec}}
    runs = {"ours": Path(out, "ours"), "own": Path(out, "own")}
    wr.run_experiment(experiment, runs["ours"])
    wr.run_experiment({**experiment, "prompts": str(FOLDER)}, runs["own"])

    hashes = {name: json.loads((run / "manifest.json").read_text("utf-8"))["prompts"] for name, run in runs.items()}
    for prompt in hashes["own"]:
        if hashes["own"][prompt] != hashes["ours"][prompt]:
            print("changed:", prompt)
    frame = wr.to_dataframe(list(runs.values()))
    print(frame.groupby("run")[["diagnosis", "treatment"]].mean())


if __name__ == "__main__":
    main(*sys.argv[1:])
