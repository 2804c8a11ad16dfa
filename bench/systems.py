# SPDX-License-Identifier: Apache-2.0
# The report of bench/systems.sh: errors of validate --systems by kind, beside those of a roofline without a fitted number: 0.6 of the data sheet's rate of products, 0.8 of its
# bandwidth, 25 us a layer, and of each all-reduce 10 us and its bytes at 0.5 of the links' rate. Rows without an architecture or in training have no roofline here.
import csv, json, math, os, statistics, subprocess, sys

rows = list(csv.DictReader(open(sys.argv[1])))
doc = json.load(open(sys.argv[2]))
hw = {}
for name in {r["hw"] for r in rows}:
    keys = json.loads(subprocess.run([os.environ["FUSESIM"], "hw", "show", name, "--json", "-"], check=True, capture_output=True, text=True).stdout)["keys"]
    hw[name] = {k: v["value"] for k, v in keys.items()}


def shape_of(name):
    """What the program knows of a model of this name; None where it has none. ffn: of an expert, where there are any."""
    said = subprocess.run([os.environ["FUSESIM"], "models", name, "--json", "-"], capture_output=True, text=True)
    if said.returncode:
        return None
    m = json.loads(said.stdout)["models"][0]
    return dict(m, ffn=m["expert_ffn"] if m["experts"] else m["ffn"], topk=m["experts_per_token"])


served = {name: m for name in {r["model"] for r in rows} if (m := shape_of(name))}
answers = {}
for a in doc["rows"]:
    answers[a["id"], a["metric"]] = a
LAYER_S, REDUCE_S, WORK, STREAM, LINK = 25e-6, 10e-6, 0.6, 0.8, 0.5


def roofline(r):
    m, g = served.get(r["model"]), hw.get(r["hw"])
    if not m or not g or r["mode"] == "training step":
        return None
    tp, batch, i, o = max(int(r["tp"] or 1), int(r["ep"] or 1)), int(r["batch"] or 0), int(r["input_len"]), int(r["output_len"])
    each = {"f16": 2, "f8e4m3": 1, "nvfp4": 0.53125}[r["precision"]]
    cache = 1 if r["kv_precision"] == "f8e4m3" else 2
    peak = WORK * (g.get("tensor_f8") or g["tensor_f16"] if r["precision"] == "f8e4m3" else g["tensor_f16"]) * tp
    band = STREAM * g["dram_bandwidth"] * tp
    experts = max(m["experts"], 1)
    block = 3 * m["hidden"] * m["ffn"]
    rest = float(r["params"]) - m["layers"] * block * experts
    active = rest + m["layers"] * block * max(m["topk"], 1)
    token = m["layers"] * 2 * m["kv_heads"] * m["head_dim"] * cache

    def step(tokens, cached):
        used = experts if not m["experts"] else experts * (1 - (1 - m["topk"] / experts) ** tokens)
        bytes_ = (rest + m["layers"] * block * used) * each + cached * token
        reduce = 2 * m["layers"] * (REDUCE_S + 2 * (tp - 1) / tp * tokens * m["hidden"] * 2 / (LINK * g["link_bandwidth"])) if tp > 1 else 0
        return max(2 * active * tokens / peak, bytes_ / band) + m["layers"] * LAYER_S + reduce

    prefill = step(i, 0)
    if r["mode"] == "prefill":
        return prefill
    if r["mode"] == "static batch":
        return batch * o / (step(batch * i, 0) + o * step(batch, batch * (i + o / 2))) / int(r["gpus"])
    if r["mode"] == "maximum load":
        left = 0.9 * (g["dram_capacity"] - float(r["params"]) * each / tp) * tp
        batch = max(1, min(2048, left / token / (i + o / 2)))
    whole = step(batch, batch * (i + o / 2)) + batch / o * 2 * active * i / peak
    if r["mode"] == "maximum load":
        rate = batch / whole * int(r["gpus"]) / tp
        return rate / int(r["gpus"]) if "per GPU" in r["metric"] else rate
    return prefill if "first token" in r["metric"] else whole


def kind_of(r):
    experts = served.get(r["model"], {}).get("experts", 0) > 0
    if r["mode"] == "maximum load":
        return "maximum load, experts" if experts else "maximum load, dense"
    if r["mode"] == "training step":
        return "training step, bf16" if r["precision"] == "bf16" else "training step, other"
    if r["mode"] == "fixed concurrency":
        if "first token" in r["metric"]:
            return "time to first token, up to 8" if int(r["batch"]) <= 8 else "time to first token, queue"
        return "time per token, experts" if experts else "time per token, dense"
    return {"prefill": "first token, batch 1"}.get(r["mode"], r["mode"])


errors = {}
for r in rows:
    a, line, value = answers[r["id"], r["metric"]], roofline(r), float(r["value"])
    e = errors.setdefault(kind_of(r), ([], [], []))
    if a["predicted"] is not None:
        e[0].append(abs(a["predicted"] / value - 1))
    else:
        e[2].append(a["reason"])
    if line:
        e[1].append(abs(line / value - 1))
print("""# Whole systems: predicted and measured

Made by `bench/systems.sh`. Each row is a model on so many GPUs under a serving program, or a training, as its publisher measured it. `fusesim validate --systems FILE.csv` composes
each from steps that the cost model prices, and from the memory that they leave (docs/MODEL.md, "Whole serving systems").
Few numbers are fitted, one value for all models and GPUs: a few an engine (`src/serving/engines.def`: host time a step and GPU, time before a first token, greatest batch, share of memory) and
the requests a place (`src/serving/constants.def`). They were chosen by hand as round values **on these rows**, so the errors are not of unseen rows. The steps themselves are
priced without any row of whole systems, but for one kernel: masked multi-head attention of TensorRT-LLM v0.9 has three numbers from the rows of static batches (`MASKED` in
`src/vendor/serving_fit.def`), which no row of kernels has. Chosen without the rows of a GPU they predict these within 3 to 11 % in the median, without those of a model within 6 to 8 %.

*Roofline*: 0.6 of the data sheet's rate, 0.8 of its bandwidth, 25 us a layer, all-reduces of 10 us and half of the links' rate; one prefill is its time to first token.

| kind | rows | median error | 9 of 10 within | roofline | left out |
|---|--:|--:|--:|--:|--:|""")
for kind in sorted(errors):
    of, line, out = errors[kind]
    if of:
        nine = sorted(of)[min(len(of) - 1, math.ceil(0.9 * len(of)) - 1)]
        of, nine = f"{100 * statistics.median(of):.1f} %", f"{100 * nine:.0f} %"
    else:
        of = nine = ""
    print(f"| {kind} | {len(errors[kind][0])} | {of} | {nine} | {f'{100 * statistics.median(line):.0f} %' if line else ''} | {len(out) or ''} |")
reasons = {}
for e in errors.values():
    for why in e[2]:
        reasons[why] = reasons.get(why, 0) + 1
if reasons:
    print("\nLeft out: " + "; ".join(f"{n} rows: {why}" for why, n in sorted(reasons.items())) + ".")
v = doc["verdicts"]
print(f"\n- {v['fits']} of {v['judged']} served rows, all of which ran, are said to fit.")
if v["tp_choices"]:
    share = 100 * v["best_tp_right"] / v["tp_choices"]
    print(f"- The best tp is named in {v['best_tp_right']} of {v['tp_choices']} groups that differ in tp alone ({share:.0f} %).")
if v["orders"]:
    print(f"- Rank correlation of the time per output token within a model and GPU: {v['order_mean']:.3f} on average over rows, "
          f"median {v['order_median']:.3f}, least {v['order_least']:.3f}, of {v['orders']}.")

# Times per token that contradict the time to the first token of the same system: the row before or behind it that is equal but for its figure.
times = {}
for r in rows:
    if r["mode"] == "fixed concurrency":
        times.setdefault(r["id"].rsplit("/", 1)[0], {})["first" if "first token" in r["metric"] else "token"] = r
predicted = lambda r: answers[r["id"], r["metric"]]["predicted"]
running, whole, alone, what = [], [], [], set()
for of in times.values():
    if "token" not in of or not answers[of["token"]["id"], of["token"]["metric"]]["contradiction"]:
        continue
    r, first = of["token"], of["first"]
    behind, answer = (float(r["output_len"]) - 1) * float(r["value"]), float(first["value"])
    running.append(behind / (behind + answer))
    whole.append(abs((predicted(first) + (int(r["output_len"]) - 1) * predicted(r)) / (behind + answer) - 1))
    alone.append(abs(predicted(r) / float(r["value"]) - 1))
    what.add(f"{r['model']} on {r['hw']}, {r['batch']} in flight")
if running and v["orders"]:
    print(f"- {v['contradictions']} systems ({'; '.join(sorted(what))}) contradict themselves: by their own times to the first token and per token {100 * min(running):.0f} to {100 * max(running):.0f} % of the requests in "
          "flight make tokens, while the others have a place and steps have room for their prompts (`src/serving/contradictions.h`; `validate --systems` names the rows). "
          f"Their time per token is off by {100 * statistics.median(alone):.0f} % in the median, that of a whole answer, both times together, by {100 * statistics.median(whole):.0f} %: what was timed seems to be the first token behind "
          f"another part of the answer, as GPT-OSS's reasoning is. They are predicted as they are stated, and count above; without them the rank correlation is {v['order_mean_consistent']:.3f}.")
print("""
## What intervals stand on

`src/serving/evidence.def` has these figures; `fusesim capacity` and `validate --systems` take their 80 % intervals from them. By the same rows that the scalars were chosen on: unseen
systems may be further off.

| kind | rows | median error | e to the power of, 8 of 10 |
|---|--:|--:|--:|""")


def evidence_of(r):
    experts = ", experts" if served.get(r["model"], {}).get("experts", 0) > 0 else ", dense"
    if r["mode"] == "fixed concurrency":
        return ("time to first token" if "first token" in r["metric"] else "time per token") + experts
    return {"prefill": "first token, batch 1", "maximum load": "maximum load" + experts}.get(r["mode"], r["mode"])


stand = {}
for r in rows:
    a = answers[r["id"], r["metric"]]
    if a["predicted"] is not None:
        stand.setdefault(evidence_of(r), []).append((abs(a["predicted"] / a["measured"] - 1), abs(math.log(a["predicted"] / a["measured"]))))
for kind, of in sorted(stand.items()):
    width = sorted(x for _, x in of)[math.ceil(0.8 * len(of)) - 1]
    print(f"| {kind} | {len(of)} | {100 * statistics.median(x for x, _ in of):.1f} % | {math.ceil(100 * width) / 100:.2f} |")
print("\n## Groups\n")
print(open(sys.argv[3]).read().rsplit("\n\n", 1)[0])
print("\n## Furthest off\n\n| row | predicted | measured | unit |\n|---|--:|--:|---|")
done = [a for a in doc["rows"] if a["predicted"] is not None]
for a in sorted(done, key=lambda a: (-abs(math.log(a["predicted"] / a["measured"])), a["id"]))[:10]:
    print(f"| {a['id']} | {a['predicted']:.4g} | {a['measured']:.4g} | {a['unit']} |")
