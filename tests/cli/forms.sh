#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A model that is there as an ONNX file and as a torch.export archive: the same FLOPs, and best plans within 2 % of each other.
# depends: once cost: 4
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset FUSESIM_HWMODELS
shared=${FUSESIM_SHARED:-$SOURCE_DIR/../shared}/models
[ -d "$shared" ] || { echo "no $shared: nothing to compare"; exit 77; }
rm -f failures

hw=h100-sxm5-80gb # each model on one of two GPUs
# plan FILE MODEL NAME=VALUE... : the plan as JSON
plan() {
    local to=$1 model=$2 dims=() value
    shift 2
    for value in "$@"; do dims+=(--dim "$value"); done
    timeout 60 "$FUSESIM" "$shared/$model" --hw $hw "${dims[@]}" --json "$to" >out 2>err ||
        { echo "FAILED: no plan of $model: $(head -3 err)" >&2; echo "$model" >>failures; }
}
# both MODEL MODEL: of one.json and other.json
both() {
    "${PYTHON:-python3}" - "$1" "$2" <<'END' || echo "$1" >>failures
import json, sys
one, other = (json.load(open(f))["plans"] for f in ("one.json", "other.json"))
for x, y in zip(one, other):
    name, flops = x["hardware"]["name"], [p["workload"]["contraction_flops"] for p in (x, y)]
    time = [next(s["time_s"] for s in p["strategies"] if s["name"] == "optimal") for p in (x, y)]
    if flops[0] != flops[1] or abs(time[1] / time[0] - 1) > 0.02:
        sys.exit(f"FAILED: {sys.argv[1]} and {sys.argv[2]} on {name}: {flops} FLOPs, {time} s")
END
}
plan one.json vit_base_patch16_224.onnx batch=2
plan other.json vit_base_patch16_224.pt2 x:0=2
both vit_base_patch16_224.onnx vit_base_patch16_224.pt2
plan other.json vit_base_patch16_224_opset23.onnx batch=2
both vit_base_patch16_224.onnx vit_base_patch16_224_opset23.onnx
plan one.json mobilenetv3_large_100.onnx batch=4
plan other.json mobilenetv3_large_100.pt2 x:0=4
both mobilenetv3_large_100.onnx mobilenetv3_large_100.pt2
hw=rtx-4090
plan one.json whisper_tiny_encoder.onnx
plan other.json whisper_tiny_encoder.pt2 input_features:0=1
both whisper_tiny_encoder.onnx whisper_tiny_encoder.pt2

# GPT-2 has 6 layers in one file and 3 in the other: what a layer takes.
layers() {
    "${PYTHON:-python3}" - one.json other.json <<'END' || echo "gpt2_decode" >>failures
import json, re, sys
def layer(file, number):
    plans = json.load(open(file))["plans"]
    return [sum(k["time_s"] for k in p["plan"]["kernels"] if re.search(rf"\bh\.{number}\b", k.get("layer") or "")) for p in plans]
for x, y in zip(layer("one.json", 1), layer("other.json", 1)):
    if not x or abs(y / x - 1) > 0.02:
        sys.exit(f"FAILED: a layer of gpt2_decode takes {x} s and {y} s")
END
}
plan one.json gpt2_decode.onnx batch=3 past=40
plan other.json gpt2_decode.pt2 input_ids:0=3 past_0:2=40
layers

[ ! -s failures ]
