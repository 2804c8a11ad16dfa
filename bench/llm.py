# SPDX-License-Identifier: Apache-2.0
# bench/llm.py HW[,HW...] MODELS STEPS WEIGHTS: what bench/llm.sh writes, on stdout. Lists by commas; empty: all.
import json, os, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

from written import microseconds

TOP, PROGRAM = os.environ["TOP"], os.environ["FUSESIM"]
GPUS = sys.argv[1].split(",")
# A model: its name, the family of workloads, layers, and the symbols that differ from the workload's.
MODELS = {"llama-3-8b": ("Llama 3 8B", "dense", 32, {}),
          "llama-3-70b": ("Llama 3 70B, tp 8", "dense", 80, {"H": 8192, "heads": 64, "F": 28672, "tp": 8}),
          "mixtral": ("Mixtral 8x7B, tp 2", "moe", 32, {"tp": 2}),
          "deepseek-v3": ("DeepSeek V3, ep 16", "mla", 61, {"ep": 16})}
STEPS = ("decode", "prefill", "mixed")
WEIGHTS = {"bf16": "bf16", "f8e4m3": "f8", "f4e2m1": "f4"}
NAMES = ("eager", "inductor", "serving", "optimal")


def chosen(all_of, text):
    return [x for x in all_of if not text or x in text.split(",")]


def multiplies_f4(gpu):
    """Has it tensor units for 4-bit floats? Elsewhere the weights are widened inside products of bf16."""
    shown = subprocess.run([PROGRAM, "hw", "show", gpu, "--json", "-"], capture_output=True, text=True, cwd=TOP)
    return int(re.sub(r"\D", "", json.loads(shown.stdout)["architecture"])) >= 100


def run(gpu, model, step, weights, strategy):
    _, family, _, symbols = MODELS[model]
    only = {"weight_only": 1} if weights == "f4e2m1" and not multiplies_f4(gpu) else {}
    sets = [f"{k}={v}" for k, v in dict(symbols, weight_dtype=weights, **only).items()]
    command = [PROGRAM, f"workloads/llm/{family}_{step}.yaml", "--hw", gpu, "--launch", "graph", "--strategy", strategy, "--json", "-"] + [x for s in sets for x in ("--set", s)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["plans"][0]


def short(kernels):
    """The operators of each kernel, without numbers of layers and steps inside."""
    out = []
    for kernel in kernels:
        names = []
        for operator in kernel:
            name = re.sub(r"(\.\d+)?(/.*)?$", "", operator)
            if name not in names:
                names.append(name)
        out.append(" + ".join(names))
    return " \\| ".join(out)


class Row:
    def __init__(self, gpu, model, step, weights):
        self.gpu, self.model, self.step, self.weights = gpu, model, step, weights
        optimal, serving = (run(gpu, model, step, weights, s) for s in ("optimal", "serving"))
        self.by = {s["name"]: s for s in optimal["strategies"]}
        self.proven, self.gap = optimal["plan"]["proven"], optimal["plan"]["gap"]
        self.refusals = [r for r in optimal["refusals"] if r["saving_s"] > 0]
        kernels = serving["plan"]["kernels"]
        self.gains = [(x["time_s"], [kernels[i - 1]["operators"] for i in x["kernels"]], x["optimal"]) for x in serving["plan"]["losses"]]

    def time(self, name):
        return self.by[name]["time_s"]

    def title(self):
        return f"{MODELS[self.model][0]}, {self.step}, {WEIGHTS[self.weights]}"


def table(rows):
    print("| model, step, weights | " + " | ".join(NAMES) + " | over eager | over inductor | over serving | kernels, serving | optimal | optimum |")
    print("|---|" + "--:|" * 9 + "---|")
    for r in rows:
        times = [microseconds(r.time(n)) for n in NAMES]
        ratios = [f"{r.time(n) / r.time('optimal'):.2f}x" for n in NAMES[:3]]
        print("| " + " | ".join([r.title()] + times + ratios + [str(r.by[n]["kernels"]) for n in ("serving", "optimal")] + ["proven" if r.proven else f"gap {100 * r.gap:.3g} %"]) + " |")


def refused(r):
    if not r.refusals:
        return "none"
    most = max(r.refusals, key=lambda x: x["saving_s"])
    return f"{short([[most['a']]])} with {short([[most['b']]])}: {most['message'].replace('|', chr(92) + '|')}; at most {microseconds(most['saving_s'])} us"


def gains(rows):
    print("| saves | of the layer | in | serving launches | optimal launches | the dearest fusion still refused there |")
    print("|--:|--:|---|---|---|---|")
    found = sorted(((g[0], r, g) for r in rows for g in r.gains), key=lambda x: -x[0] / x[1].time("serving"))
    seen = set()
    for seconds, r, (_, old, new) in found:
        what = short(new)
        if (r.model, what) in seen:
            continue
        seen.add((r.model, what))
        print(f"| {microseconds(seconds)} us | {100 * seconds / r.time('serving'):.0f} % | {r.title()} | {short(old)} | {what} | {refused(r)} |")
        if len(seen) == 5:
            return


def refusals(rows):
    print("| would save at most | of the layer | in | operators | why it can't be |")
    print("|--:|--:|---|---|---|")
    found = sorted(((x["saving_s"], r, x) for r in rows for x in r.refusals), key=lambda x: -x[0] / x[1].time("optimal"))
    seen = set()
    for seconds, r, x in found:
        what = (r.model, short([[x["a"]]]), short([[x["b"]]]))
        if what in seen:
            continue
        seen.add(what)
        print(f"| {microseconds(seconds)} us | {100 * seconds / r.time('optimal'):.0f} % | {r.title()} | {what[1]} with {what[2]} | {x['message'].replace('|', chr(92) + '|')} |")
        if len(seen) == 5:
            return


def main():
    keys = [(g, m, s, w) for g in GPUS for m in chosen(MODELS, sys.argv[2]) for s in chosen(STEPS, sys.argv[3]) for w in chosen(WEIGHTS, sys.argv[4])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda k: Row(*k), keys))
    print("# What fusion brings in a layer of language models")
    print()
    print("Made by `bench/llm.sh`; predictions, nothing here was measured. A layer of each model as workloads/llm describes it: decode is one new token of each of 32 requests with 4,096 tokens in")
    print("the cache, prefill one prompt of 4,096 tokens, mixed 2,048 tokens of a prompt beside 32 requests. One rank's share, its collectives included; `weights` f8: products of 8-bit floats")
    print("(a known scale; DeepSeek: block scales); f4: NVFP4, 4-bit floats with a scale for each 16, of weights and activations on GPUs that multiply them, else of weights alone, widened inside the product. Kernels are launched by a recorded graph. *eager* and *inductor* are PyTorch's, *serving* is what TensorRT-LLM launches: its library's calls, and")
    print("the kernels that serving stacks fuse by hand (residual, norm and quantisation; SwiGLU and quantisation; attention with rotary embedding and cache write). *optimal* may take the")
    print("library's calls, too. Times in microseconds a layer, with errors of 10 to 20 %: what is closer than that is too close to call.")
    for gpu in GPUS:
        mine = [r for r in rows if r.gpu == gpu]
        print(f"\n## {gpu}\n")
        table(mine)
        print(f"\nThe five largest shares of a layer that *optimal* saves over *serving*, each once for a model:\n")
        gains(mine)
        print(f"\nAnd the five dearest fusions that *optimal* must do without:\n")
        refusals(mine)


main()
