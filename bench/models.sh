#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/models.sh [HW[,HW...] [FOLDER]]: plans every exported model (.onnx, .pt2) of a folder and prints a table: primitives, kernels and times of eager, inductor,
# pattern and optimal, the proof or its gap, seconds and memory of the whole run; how far apart the forms of one model are; kernels beside those of torch.compile. Dimensions have the values of `MODEL.expect.json` beside the model (`dims`; of
# .pt2 files `symbols` says which is which), or what DIMS says, such as '--dim batch=8'. LIMIT ends a run, in seconds. Default: a100-sxm4-40gb, h100-sxm5-80gb and
# rtx-4090; ../shared/models where it is, else workloads/models with DIMS for their names. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-a100-sxm4-40gb,h100-sxm5-80gb,rtx-4090}
folder=${2:-$top/../shared/models}
[ -d "$folder" ] || folder=$top/workloads/models
FUSESIM=$program DIMS=${DIMS:-} LIMIT=${LIMIT:-60} PYTHONDONTWRITEBYTECODE=1 python3 - "$folder" "$hw" "$top/bench" <<'END'
import collections, json, os, subprocess, sys
folder, gpus, bench = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
sys.path.insert(0, bench)
from exported import kernels_and_time, models, planned, proof

most, best = 0, {}

def row(path, gpu):
    global most
    run = planned(path, gpu)
    name = os.path.basename(path)
    most = max(most, run.mebibytes)
    if run.error:
        return f"| {name} | {gpu} | {run.error} |"
    d, plan = run.plan, run.plan["plan"]
    best[name, gpu] = (run.strategies["optimal"]["time_s"], d["workload"]["contraction_flops"], plan["proven"])
    cells = [kernels_and_time(run.strategies, n) for n in ("eager", "inductor", "pattern", "optimal")]
    return " | ".join([f"| {name}", d["hardware"]["name"], str(d["workload"]["primitives"]), *cells, proof(plan), f"{run.wall_s:.2f} s", f"{run.mebibytes:.0f} MiB |"])

print("| model | GPU | primitives | eager | inductor | pattern | optimal | proof | whole run | memory |\n|---|---|---|---|---|---|---|---|---|---|")
count = 0
for path in models(folder):
    for gpu in gpus:
        print(row(path, gpu), flush=True)
        count += 1
print(f"\n{count} runs; the largest took {most:.0f} MiB; {sum(x[2] for x in best.values())} plans are proven")
print("""
`pattern` may have more kernels than `eager`. A transpose, a slice or an expansion is a view in PyTorch, which costs nothing; ONNX Runtime and TensorRT have no strided tensors, so that it is a kernel where no rule takes it:
windows of Swin, channels last and back in ConvNeXt, indices of DLRM. In fp32, ONNX Runtime's one kernel for an attention may take longer than its products and its softmax (Whisper).""")

# One model in several forms, at one size: what the best plan of the second takes more than that of the first.
PAIRS = (("bert_base.onnx", "bert_base.pt2"), ("vit_base_patch16_224.onnx", "vit_base_patch16_224.pt2"),
         ("vit_base_patch16_224.onnx", "vit_base_patch16_224_opset23.onnx"), ("convnext_tiny.onnx", "convnext_tiny.pt2"),
         ("resnet50.onnx", "resnet50.pt2"), ("mobilenetv3_large_100.onnx", "mobilenetv3_large_100.pt2"),
         ("lstm_tagger.onnx", "lstm_tagger.pt2"), ("resnet18_train.pt2", "resnet18_train_core_aten.pt2"),
         ("dlrm.onnx", "dlrm.pt2"), ("bert_base.onnx", "bert_base_ort_fused.onnx"))
if all((x, gpus[0]) in best for x in PAIRS[0]):
    print("\n## Forms of one model\n\n| one | other | FLOPs | " + " | ".join(gpus) + " |\n|---|---|---|" + "---|" * len(gpus))
    for x, y in PAIRS:
        both = [(best.get((x, g)), best.get((y, g))) for g in gpus]
        if all(p and q for p, q in both):
            flops = "equal" if both[0][0][1] == both[0][1][1] else f"{100 * (both[0][1][1] / both[0][0][1] - 1):+.3f} %"
            print(f"| {x} | {y} | {flops} | " + " | ".join(f"{100 * (q[0] / p[0] - 1):+.2f} %" for p, q in both) + " |")
    print("""
The two files of dlrm are two models: 8.9 M parameters and five rows a bag in one, 51.5 M and bags whose lengths are data in the other, where each bag is a kernel of its own. The offline tool of
ONNX Runtime has put the weights of query, key and value into one matrix. lstm_tagger's FLOPs differ in the expectations, too. GPT-2, its decoding step, T5 and core-ATen BERT have other numbers of
layers in their other forms; with as many layers (the repeat block of `fusesim import`) the best plans are 0.00, 0.00, at most 0.97 and 0.01 % apart.""")

if all((x, gpus[0]) in best for x in PAIRS[0]):
    print("""
## Why a plan is not proven

Kernels that may compute a mask or a table again, beside twelve or thirty attentions that read it: each part of the mask may be stored or not, and the search keeps every combination apart. gpt2, llama, mixtral, bert_base_core_aten
and bert_base_ort_fused make masks of positions at each run, as their code in PyTorch does. They are not computed before the run here: eager would lose kernels that PyTorch launches, and a mask that is computed where it is read can
cost less than one that is loaded. Where each reader depends on the one before, the bound leaves out what makes the mask, and the gap is what that costs, about a launch; llama and mixtral read their tables in several places of a layer
at once. bert_base_core_aten with its mask as an input (`import -o`, the operators in front of `bitwise_and_1` taken out) is proven. resnet18_train: statistics of each batch, twice in a block that
downsamples. lstm_tagger: 50 steps of a recurrence in both directions. Such graphs of more than 64
primitives are bounded in stretches (`plan/search/stretches.c`): what stays open is then in stretches whose own search is broken off, and at the borders between them.""")

# Counted with torch.compile: fused kernels, library calls, GB that they read and write.
COMPILED = (("bert_base.onnx", ["batch=8", "seq=128"], 86, 97, 2.474), ("resnet50.pt2", ["x:0=32"], 50, 54, 6.302))
rows = []
for name, sizes, fused, calls, gb in COMPILED:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        continue
    run = subprocess.run([os.environ["FUSESIM"], path, "--hw", gpus[0], "--strategy", "inductor", "--search-steps", "1000", "--json", "-",
                          *(w for s in sizes for w in ("--dim", s))], capture_output=True, text=True)
    kernels = json.loads(run.stdout)["plans"][0]["plan"]["kernels"]
    ours = collections.Counter(k["template"] == "library" for k in kernels)
    moved = sum(x["bytes"] for k in kernels for x in k["inputs"] + k["outputs"]) / 1e9
    rows.append(f"| {name} | {' '.join(sizes)} | {fused} | {ours[False]} | {calls} | {ours[True]} | {gb:.3f} | {moved:.3f} |")
if rows:
    print("""
## Kernels of `inductor` beside those of torch.compile

| model | sizes | fused, torch.compile | here | library calls, torch.compile | here | GB read and written, torch.compile | here |
|---|---|---|---|---|---|---|---|""")
    print("\n".join(rows))
    print("""
Bytes are of each kernel's inputs and results, each once, whatever L2 holds.

- **resnet50**: the counts agree. torch.compile counts a tensor as a whole where a kernel needs a part of it: the three 1 x 1 convolutions with stride 2 read a quarter of their inputs (0.135 GB
  of the 0.264 GB). The rest, 0.129 GB, is as much as the max pooling reads and writes.
- **bert_base**: seven fused kernels and eight calls a layer in both. Two more kernels here: the attention mask of the exported model is made before the layers. Of the 0.230 GB, 0.092 GB are embedding tables, counted as a whole there and here by the rows that are read; 0.138 GB are not explained.""")
END
