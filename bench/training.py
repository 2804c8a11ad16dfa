# SPDX-License-Identifier: Apache-2.0
# bench/training.py HW[,HW...] ROWS EVERY [WORKLOAD...]: what bench/training.sh writes, on stdout.
import json, math, os, subprocess, sys, time

from written import duration

GPUS, ROWS, EVERY, ONLY = sys.argv[1].split(","), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
TOP, PROGRAM = os.environ["TOP"], os.environ["FUSESIM"]
SHARED = os.path.join(TOP, "../shared/data/workloads")
NAMES = ("eager", "inductor", "optimal")
# Dimensions of exported models, and lengths of whole networks that a table need not have in full.
OPTIONS = {"models/tiny_cnn.onnx": "--dim batch=8", "models/tiny_cnn.pt2": "--dim s40=8",
           "models/tiny_transformer.onnx": "--dim batch=8 --dim seq=512", "models/tiny_transformer.pt2": "--dim s23=8 --dim s27=512"}
LIMIT = 120  # seconds for a run


def shipped():
    run = subprocess.run([PROGRAM, "workloads", "--json", "-"], capture_output=True, text=True, cwd=TOP)
    return [w["name"] for w in json.loads(run.stdout)]


def plan(workload, gpu, *options):
    """What a run says, reduced to what the report shows; or the reason why there is no plan."""
    began = time.time()
    try:
        run = subprocess.run([PROGRAM, workload, "--hw", gpu, "--train", "--jobs", "1", "--json", "-", *options], capture_output=True, text=True, cwd=TOP, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"refused": f"no plan in {LIMIT} s"}
    wall = time.time() - began
    if run.returncode:
        lines = [x for x in run.stderr.splitlines() if "error:" in x]
        return {"refused": (lines or run.stderr.splitlines() or ["no message"])[0].split("error: ")[-1]}
    d = json.loads(run.stdout)["plans"][0]
    p = d["plan"]
    keep = ("kernels", "time_s", "forward_s", "backward_s", "optimizer_s", "saved_bytes", "saved_input_bytes", "peak_memory_bytes", "dram_read_bytes", "dram_write_bytes")
    return {"wall_s": wall, "proven": p["proven"], "gap": p["gap"], "search_s": p["search_s"], "gradients": len(d["training"]["gradients"]),
            "flops": [d["training"]["forward_flops"], d["training"]["backward_flops"]],
            "saved": [{"tensor": s["tensor"], "way": s["way"], "bytes": s["bytes"]} for s in p["saved"]],
            "strategies": {s["name"]: {k: s.get(k) for k in keep} for s in d["strategies"] if s["name"] in NAMES + ("greedy",)},
            "kernels": [[k["phase"], k["template"], k["time_s"], k["dram_read_bytes"], k["dram_write_bytes"], k["operators"], k["recomputed"]] for k in p["kernels"]]}


def graphs():
    path = os.path.join(SHARED, "training.jsonl")
    if not os.path.exists(path):
        return []
    found = []
    for line in open(path).readlines()[::EVERY]:
        want = json.loads(line)
        at = next((p for p in (os.path.join(SHARED, f, want["id"] + ".yaml") for f in ("", "kernelbench", "ops_llm")) if os.path.exists(p)), None)
        if at:
            found.append((at, want))
    return found


def wanted():
    """Each row: its key, and what plans it."""
    for name in ONLY or shipped():
        for gpu in GPUS:
            yield f"{name} {gpu}", lambda name=name, gpu=gpu: plan(name, gpu, *OPTIONS.get(name, "").split())
    for name in LAYERS if not ONLY else ():
        for gpu in GPUS:
            yield f"adamw {name} {gpu}", lambda name=name, gpu=gpu: plan(name, gpu, "--optimizer", "adamw")
    for path, want in graphs() if not ONLY else ():
        yield "graph " + want["id"], lambda path=path, want=want: dict(
            plan(path, GPUS[-1], "--seed", "ones"), kernels=[], oracle={k: want.get(k) for k in ("saved_bytes_eager", "saved_bytes_min_cut")})


def collect(rows):
    for key, planner in wanted():
        if key not in rows:
            rows[key] = planner()
            print(key, rows[key].get("wall_s"), file=sys.stderr, flush=True)
    return rows


LAYERS = ("mlp", "bert_layer", "gpt2_layer", "llama_block", "resnet50_block")
ALL = collect(json.load(open(ROWS)) if ROWS and os.path.exists(ROWS) else {})
if ROWS:
    json.dump(ALL, open(ROWS, "w"))


def of(name, gpu=None):
    return ALL[f"{name} {gpu or GPUS[-1]}"]


def size(b):
    for unit, k in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if b >= k:
            return f"{b / k:.3g} {unit}" if b < 1000 * k else f"{b / k:.0f} {unit}"
    return f"{b} B"


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def against(row, name, key="time_s"):
    return row["strategies"]["eager"][key] / row["strategies"][name][key]


def planned(begins, gpu=None):
    return {k: r for k, r in ALL.items() if k.startswith(begins) and "strategies" in r and set(NAMES) <= set(r["strategies"]) and (not gpu or k.endswith(" " + gpu))}


def is_shipped(key):
    return not key.startswith(("adamw ", "graph "))


def ways(saved):
    """The largest that is kept, and how many more there are."""
    kept = sorted((s for s in saved if s["way"] == "keep"), key=lambda s: -s["bytes"])
    again = len(saved) - len(kept)
    first = f"`{kept[0]['tensor']}` {size(kept[0]['bytes'])}" if kept else "nothing"
    return first + (f" and {len(kept) - 1} more" if len(kept) > 1 else "") + (f"; {again} again" if again else "")


def table(rows, third):
    print(f"| workload | time: eager | inductor | optimal | over eager | over inductor | {third} | saved: eager | inductor | optimal | peak: eager | inductor | optimal | kernels | optimal keeps | proof | wall |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|--:|")
    for name, r in rows:
        s = [r["strategies"][n] for n in NAMES]
        parts = [duration(s[2][k + "_s"]) for k in third.split(" / ")]
        print("|", " | ".join([name, *(duration(x["time_s"]) for x in s), f"{against(r, 'optimal'):.2f}x", f"{against(r, 'optimal') / against(r, 'inductor'):.2f}x", " / ".join(parts),
                               *(size(x["saved_bytes"]) for x in s), *(size(x["peak_memory_bytes"]) for x in s), " / ".join(str(x["kernels"]) for x in s), ways(r["saved"]),
                               "proven" if r["proven"] else f"gap {r['gap'] * 100:.1f} %", f"{r['wall_s']:.1f} s"]), "|")
    print()


def summary():
    print("| GPU | workloads | inductor over eager | optimal over eager | optimal over inductor | optimal keeps less than eager | more | peak below eager's | above | proven |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for gpu in GPUS:
        rows = [r for k, r in planned("", gpu).items() if is_shipped(k)]
        differ = lambda key, sign: sum(sign * (r["strategies"]["eager"][key] - r["strategies"]["optimal"][key]) > 0 for r in rows)
        print("|", " | ".join([gpu, str(len(rows)), f"{mean(against(r, 'inductor') for r in rows):.2f}x", f"{mean(against(r, 'optimal') for r in rows):.2f}x",
                               f"{mean(against(r, 'optimal') / against(r, 'inductor') for r in rows):.2f}x", str(differ("saved_bytes", 1)), str(differ("saved_bytes", -1)),
                               str(differ("peak_memory_bytes", 1)), str(differ("peak_memory_bytes", -1)), f"{sum(r['proven'] for r in rows)} of {len(rows)}"]), "|")
    print()


class Untrue(Exception):
    pass


def claim(holds, what):
    if not holds:
        raise Untrue(what)


def near(a, b, share, what):
    claim(abs(a / b - 1) <= share, f"{what}: {a:.6g} beside {b:.6g}")


def update():
    """Half of eager's step of a Llama block is the update of its weights."""
    r = of("adamw llama_block")
    e, o = r["strategies"]["eager"], r["strategies"]["optimal"]
    kernel = next(k for k in r["kernels"] if k[0] == "optimizer")
    claim(sum(k[0] == "optimizer" for k in r["kernels"]) == 1, "the update is one kernel")
    moved = kernel[3] + kernel[4]
    weights = round(moved / 28)
    share, after = e["optimizer_s"] / e["time_s"], o["optimizer_s"] / o["time_s"]
    claim(share > 0.4, f"the update is {share:.2f} of eager's step")
    claim(e["optimizer_s"] > e["backward_s"], "the update takes longer than backward")
    near(e["optimizer_s"] / o["optimizer_s"], 80 / 28, 0.1, "bytes of torch._foreach over those of one kernel")
    saved = (e["optimizer_s"] - o["optimizer_s"]) / (e["time_s"] - o["time_s"])
    claim(saved > 0.5, f"the update is {saved:.2f} of what fusion saves")
    print(f"**In a Llama block the update of the weights takes longer than the backward pass.** `llama_block --train --optimizer adamw` on {GPUS[-1]}, 2048 tokens: of eager's {duration(e['time_s'])} the update is "
          f"{duration(e['optimizer_s'])} ({share:.0%}), backward {duration(e['backward_s'])}, forward {duration(e['forward_s'])}. "
          f"Products shrink with the tokens of a step; AdamW walks all weights of the block ({weights / 1e6:.0f} M) whatever their number. PyTorch's `torch._foreach` calls read and write 80 B a parameter, the one kernel of the best plan 28: it reads the gradient, weight in f32, m and v and writes "
          f"the last three and the rounded weight, {moved / 1e9:.2f} GB in {duration(kernel[2])}, {moved / kernel[2] / 1e12:.2f} TB/s. {saved:.0%} of all that fusion saves in this step is this kernel; "
          f"`torch.optim.AdamW(fused=True)` is such a kernel for weights in f32. It is still {after:.0%} of the best plan's step; `--micro-batches` spreads it.\n")


def loss():
    """A loss whose gradient costs nothing."""
    r = of("seeds/softmax_ce")
    e, i, o = (r["strategies"][n] for n in NAMES)
    claim(o["kernels"] == 1 and o["backward_s"] == 0, "loss and gradient are one kernel")
    claim(i["kernels"] == 2, f"inductor has {i['kernels']} kernels")
    logits = 8192 * 32768 * 4
    near(o["dram_read_bytes"], logits, 0.001, "optimal reads the logits once")
    near(o["dram_write_bytes"], logits, 0.001, "optimal writes the gradient once")
    near(i["dram_read_bytes"], 3 * logits, 0.01, "inductor reads the logits three times")
    near(e["dram_read_bytes"] + e["dram_write_bytes"], 10 * logits, 0.02, "eager moves ten times the logits")
    print(f"**The backward pass of a loss can take no time at all.** `seeds/softmax_ce --train` on {GPUS[-1]}: eager {duration(e['time_s'])}, inductor {duration(i['time_s'])}, optimal {duration(o['time_s'])}, "
          f"{against(r, 'optimal'):.1f}x. The gradient of a loss is 1, so that no barrier stands between the passes, and p - onehot wants of a row only its maximum and sum, which the loss has just computed. The best "
          f"plan is one kernel: a block holds a row of 128 KiB on chip, reads each of the 1 GiB of logits once and writes the gradient once. Inductor's two kernels read the logits three times (maximum and sum, "
          f"then the gradient, rows of this length twice in the first), eager moves ten times the logits in {e['kernels']} kernels and keeps 1 GiB of log-probabilities. "
          "The shipped losses of Liger do the same: " +
          ", ".join(f"`{n}` {against(of(n), 'optimal'):.1f}x" for n in ("liger/cross_entropy", "liger/kl_div", "liger/tvd")) + ".\n")
    for n in ("liger/cross_entropy", "liger/kl_div", "liger/tvd"):
        claim(of(n)["strategies"]["optimal"]["backward_s"] == 0, f"{n} has no kernel of backward")


def mask():
    """One bit an element is worth a fifth of the time, and no memory."""
    r, f = of("seeds/bias_relu"), of("ops/relu")
    e, i, o = (r["strategies"][n] for n in NAMES)
    tensor = 16384 * 16384 * 4
    near(o["saved_bytes"], tensor / 32, 1e-9, "one bit an element")
    near(i["saved_bytes"], tensor / 4, 1e-9, "one byte an element")
    near(e["saved_bytes"], tensor, 1e-9, "four bytes an element")
    near(o["dram_read_bytes"] + o["dram_write_bytes"], 4362207232, 0.01, "the plan's bytes")
    claim(o["peak_memory_bytes"] > e["peak_memory_bytes"], "the mask lowers the peak")
    g = f["strategies"]
    near(g["eager"]["dram_read_bytes"] + g["eager"]["dram_write_bytes"], 5 * 2**28, 0.01, "ReLU in eager moves five tensors")
    near(g["optimal"]["dram_read_bytes"] + g["optimal"]["dram_write_bytes"], (4 + 2 / 32) * 2**28, 0.01, "ReLU with a mask moves four and two masks")
    print(f"**One bit an element makes a step faster and its memory no smaller.** `seeds/bias_relu --train` on {GPUS[-1]}: what forward keeps for backward is {size(e['saved_bytes'])} in eager (the result), "
          f"{size(i['saved_bytes'])} in torch.compile (a mask of bytes), {size(o['saved_bytes'])} in the best plan (a mask of bits). It takes {duration(o['time_s'])} instead of {duration(e['time_s'])}: forward is one kernel instead of two, "
          f"and the backward kernel reads `grad/y` and the bits and adds the columns up on the way: the result is not read again, nor the masked gradient for the sum of its columns. Yet the peak is {size(o['peak_memory_bytes'])}, more than eager's "
          f"{size(e['peak_memory_bytes'])}: the result is an output and stays anyway, so that the mask comes on top. The bare `ops/relu` shows the same without a bias: five passes over a tensor become four and 2/32, "
          f"{against(f, 'optimal'):.2f}x. Masks save memory only where the result dies, as between two layers of `seeds/mlp_stack`, where one of 4 MiB is worth an activation of 128 MiB at the peak.\n")


def of_graphs():
    rows = planned("graph ")
    if not rows:
        print("There are no graphs beside this checkout.\n")
        return
    equal = sum(r["strategies"]["eager"]["saved_bytes"] == r["oracle"]["saved_bytes_eager"] for r in rows.values())
    within = sum(abs(r["strategies"]["inductor"]["saved_bytes"] - r["oracle"]["saved_bytes_min_cut"]) <= 0.05 * max(r["oracle"]["saved_bytes_min_cut"], 1) for r in rows.values())
    total = {n: sum(r["strategies"][n]["saved_bytes"] for r in rows.values()) for n in NAMES}
    peak = {n: sum(r["strategies"][n]["peak_memory_bytes"] for r in rows.values()) for n in NAMES}
    oracle = {k: sum(r["oracle"][k] for r in rows.values()) for k in ("saved_bytes_eager", "saved_bytes_min_cut")}
    print(f"{len(rows)} of the graphs of `training.jsonl` (every {EVERY}th), on {GPUS[-1]} with `--seed ones`: optimal is {mean(against(r, 'optimal') for r in rows.values()):.2f}x as fast as eager and "
          f"{mean(against(r, 'optimal') / against(r, 'inductor') for r in rows.values()):.2f}x as fast as inductor (geometric means); {sum(r['proven'] for r in rows.values())} are proven.\n")
    print("| | eager | inductor | optimal |\n|---|--:|--:|--:|")
    print("| saved, all graphs |", " | ".join(size(total[n]) for n in NAMES), "|")
    print(f"| PyTorch's own count | {size(oracle['saved_bytes_eager'])} | {size(oracle['saved_bytes_min_cut'])} | - |")
    print(f"| graphs as PyTorch | {equal} equal | {within} within 5 % | - |")
    print("| sum of peaks |", " | ".join(size(peak[n]) for n in NAMES), "|\n")


def main():
    print(f"""# What fusion brings in training

Made by `bench/training.sh`; do not edit. Forward and backward of every shipped workload that has gradients, on {" and ".join(GPUS)}; `grad/y` of outputs that are no loss comes from outside. *time*: of the step; *forward / backward*:
of optimal; *saved*: what forward keeps for backward besides inputs and weights; *peak*: the most memory at once; *kernels*: of eager, inductor, optimal; *optimal keeps*: the largest value, and how many more are kept or
computed again; *proof*: proven, or how much faster another plan could be; *wall*: seconds of the whole run, on two cores that did other work too. eager and inductor are models of PyTorch and torch.compile, not
measurements; [accuracy.md](accuracy.md) has the errors on measured trainings.

## In short
""")
    summary()
    print("The means are over ideas and single operators as well as networks. The tables have the rows.\n\n## Three findings that surprise\n\nThe script checks each figure and each comparison of these paragraphs.\n")
    for finding in (update, loss, mask) if not ONLY else ():
        finding()
    print("""## What to hold against these figures

- Operators `attention` in 16 bits are a call of FlashAttention in each pass, in eager, inductor and, where that is faster, in optimal. What its backward pass takes over its forward pass is FlashAttention's papers', not fitted to
  measurements.
- `stacks/convnext`: the gradient of the image through the first convolution (16 by 16, stride 16) is priced as a plain product, since its windows do not overlap. No such kernel was measured.
- Where two plans take equally long, the one that is found first counts, which need not keep the least.
""")
    print("## A whole step with AdamW\n")
    for gpu in GPUS:
        print(f"{gpu}\n")
        table([(k.split()[1], r) for k, r in planned("adamw ", gpu).items()], "forward / backward / optimizer")
    print("## Real graphs\n")
    of_graphs()
    print("## Forward and backward\n")
    for gpu in GPUS:
        print(f"### {gpu}\n")
        table([(k.split()[0], r) for k, r in planned("", gpu).items() if is_shipped(k)], "forward / backward")
    refused = {}
    for k, r in ALL.items():
        if is_shipped(k) and "refused" in r:
            refused.setdefault(r["refused"], set()).add(k.split()[0])
    print("Without a plan: " + "; ".join(f"{', '.join(f'`{n}`' for n in sorted(names))} ({why})" for why, names in refused.items()) + ".")


try:
    main()
except Untrue as e:
    sys.exit(f"bench/training.py: the report's prose no longer holds: {e}")
