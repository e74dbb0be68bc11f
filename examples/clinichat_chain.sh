#!/usr/bin/env bash
# CliniChat as one chain: notes become dialogues, dialogues an interviewer, interviews of unseen cases a score table.
#
#   bash examples/clinichat_chain.sh NOTES BASE CASES OUT [SPEC]
#
# NOTES  what `wardround reconstruct` reads             BASE  a folder or a name of the Hub, to be tuned
# CASES  what the base and the tuned model interview    OUT   a folder
# SPEC   the model that writes, plays the patient and judges; without one, the offline rules do
#
# Broken off anywhere, the same command goes on there: each link keeps what is finished. Further options of the
# links: WRITE="--limit 200", TUNE="--method lora --example dialogue --batch 4", RUN="--limit 70 --concurrency 8".
set -euo pipefail
notes=$1 base=$2 cases=$3 out=$4 spec=${5:-offline}
mkdir -p "$out"

# Notes without a dialogue are listed beside the dialogues (exit code 1) and hold nothing up.
wardround reconstruct "$notes" -o "$out/dialogs.jsonl" --models "default=$spec" ${WRITE:-} || [ $? = 1 ]

wardround tune "$out/dialogs.jsonl" --base "$base" --out "$out/tuned" ${TUNE:-}

cat > "$out/interviews.toml" <<END
extends = "clinichat_table_4"
mixed = true
[fixed]
patient = "$spec"
judges = "$spec"
[variants.base]
"models.clinichat.doctor" = "hf:$base"
[variants.tuned]
"models.clinichat.doctor" = "hf:$(realpath "$out")/tuned"
END
wardround run "$out/interviews.toml" --cases "$cases" --out "$out/interviews" ${RUN:-} || [ $? = 1 ]

wardround compare "$out/interviews/base" "$out/interviews/tuned"
