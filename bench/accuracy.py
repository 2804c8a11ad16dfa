# SPDX-License-Identifier: Apache-2.0
"""Puts together reports/accuracy.md from what `fusesim validate` says of measurements files; called by accuracy.sh.

Every figure is one of fusesim's own JSON; only the tables are made here. No dates, paths or machine names."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

HERE, DATA, OUT, CROSS, FITS = sys.argv[1:6]
PROGRAM = os.environ["FUSESIM"]
FILES = ("neusight", "aiconfigurator_gemm", "aiconfigurator_attention", "kernelbench_v01", "kernelbench_v0", "llmcompass")
NEUSIGHT = (  # title, filter, group of calibrate; published errors on GPUs not seen: learned model, plain roofline
    ("elementwise", ("--class", "elementwise"), "streaming", 19, 26),
    ("softmax", ("--class", "softmax"), "softmax", 14, 32),
    ("layer norm", ("--class", "norm"), "layer_norm", 57, 58),
    ("linear FP32", ("--match", "/ops/linear/"), "gemm_fp32", 14, 28),
    ("bmm FP32", ("--match", "/ops/bmm/"), "gemm_fp32", 14, 44),
)
LEVEL1 = (
    ("elementwise, reductions, losses", "elementwise,reduction,loss"), ("softmax", "softmax"), ("norms", "norm"), ("matmul", "matmul"),
    ("pooling", "pooling"), ("convolutions", "convolution"), ("several operators", "chain"),
)
FITTED = (("neusight", ("streaming", "softmax", "layer_norm", "gemm_fp32")), ("aiconfigurator_gemm", ("gemm_tensor",)),
          ("aiconfigurator_attention", ("attention",)), ("aiconfigurator_b200", ("gemm_tensor", "attention")), ("kernelbench_v01", ("convolutions",)))
report, summary = [], []


def say(*lines):
    report.extend(lines)


def percent(x, signed=False):
    return "-" if x is None else f"{100 * x:+.1f}" if signed else f"{100 * x:.1f}"


def whole(x):
    return "-" if x is None else f"{100 * x:.0f}"


def table(title, rows, left=1):
    """Markdown, its first columns to the left."""
    width = [max(len(str(r[i])) for r in [title] + rows) for i in range(len(title))]
    line = lambda cells: "| " + " | ".join(str(c).ljust(w) if i < left else str(c).rjust(w) for i, (c, w) in enumerate(zip(cells, width))) + " |"
    say(line(title), "|" + "|".join("-" * (w + 1) + ("-" if i < left else ":") for i, w in enumerate(width)) + "|", *map(line, rows), "")


def path_of(name):
    return name if "/" in name else f"{DATA}/measured/{name}.csv"


def shown(name):
    return os.path.relpath(name, HERE) if name.startswith(HERE) else "build/liger.csv" if "/" in name else f"DATA/measured/{name}.csv"


def validate(name, *how):
    """What validate says as JSON, and the command. None where no row is left."""
    roots = ("--workload-root", f"{DATA}/workloads")
    done = subprocess.run([PROGRAM, "validate", "--measurements", path_of(name), *roots, *how, "--json", "-", "--quiet"], capture_output=True, text=True)
    if done.returncode == 65 and ("no row" in done.stderr):
        return None, ""
    if done.returncode:
        sys.exit(f"validate {name} {' '.join(how)}: {done.stderr}")
    more = "" if "kernelbench" not in name else " --workload-root DATA/workloads"
    return json.loads(done.stdout), f"fusesim validate --measurements {shown(name)}{more} {' '.join(how)}".rstrip()


def chart(name, picture, title, *how):
    if subprocess.run(["sh", "-c", "command -v \"${FUSESIM_GNUPLOT:-gnuplot}\""], capture_output=True).returncode:
        return
    subprocess.run([PROGRAM, "validate", "--measurements", path_of(name), "--workload-root", f"{DATA}/workloads", *how, "--chart", f"{OUT}/accuracy/{picture}.svg", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    join_points(f"{OUT}/accuracy/{picture}.svg")
    say(f"![{title}: predicted against measured, and the error against the size](accuracy/{picture}.svg)", "")


def join_points(path):
    """An SVG whose points of one colour are one path of dots: a fifteenth of gnuplot's size."""
    point = re.compile(r"\t?<use xlink:href='#gpPt\d+' transform='translate\(([\d.]+),([\d.]+)\) scale\(([\d.]+)\)' color='(rgb\([^)]*\))'([^/]*)/>\n?")
    dots = lambda run: "M" + "M".join(f"{float(x):.0f},{float(y):.0f}h0" for x, y in run)
    out, run, kind = [], [], None

    def flush():
        if run:
            scale, color, more = kind
            more = more.replace("fill-", "stroke-").strip()
            out.append(f"<path fill='none' stroke='{color}' {more} stroke-width='{3.2 * float(scale):.2f}' stroke-linecap='round' d='{dots(run)}'/>\n")
            run.clear()
    with open(path) as file:
        for line in file:
            rest, at = [], 0
            for m in point.finditer(line):
                rest.append(line[at:m.start()])
                at = m.end()
                if "".join(rest).strip() or kind != m.group(3, 4, 5):
                    flush()
                    out.append("".join(rest))
                    rest, kind = [], m.group(3, 4, 5)
                run.append(m.group(1, 2))
            if line[at:].strip():
                flush()
                out.append(line[at:])
    flush()
    with open(path, "w") as file:
        file.writelines(out)


def said(command):
    say(f"`{command}`", "")


def errors(g):
    """Cells of a group of rows."""
    return [g["rows"], percent(g["mape"]), percent(g["median"]), percent(g["p90"]), percent(g["bias"], True), whole(g["coverage"])]


ERRORS = ["rows", "mean %", "median", "p90", "bias", "in 80 %"]


def all_gpus(d):
    return len({r["hw"] for r in d["rows"] if "excluded" not in r})


def summarise(title, d, group=None, cross=None):
    g = group or d["overall"][0]
    gpus = len({r["hw"] for r in d["rows"] if "excluded" not in r and all(r[k] == g[k] for k in ("strategy", "class", "folder") if k in g and k in r and g[k])})
    summary.append([title, g["rows"], gpus, percent(g["mape"]), percent(g["median"]), percent(g["p90"]), percent(cross), whole(g["coverage"])])


# Cross-validation

def cross_file():
    return f"{OUT}/accuracy/cross_validated.csv"


def read_cross():
    try:
        with open(cross_file(), newline="") as file:
            return {(r["file"], r["hw"], r["group"]): r for r in csv.DictReader(file)}
    except FileNotFoundError:
        return {}


def write_cross(found):
    with open(cross_file(), "w", newline="") as file:
        out = csv.DictWriter(file, ("file", "hw", "group", "rows", "mean", "median", "p90"), lineterminator="\n")
        out.writeheader()
        out.writerows(found[k] for k in sorted(found))


def keep_fit(found, name, hw, fit):
    numbers = {k: f"{fit['after'][v]:.6f}" for k, v in (("mean", "mape"), ("median", "median"), ("p90", "p90"))}
    found[name, hw, fit["name"]] = {"file": name, "hw": hw, "group": fit["name"], "rows": fit["rows"], **numbers}


def cross_validate(part):
    found = read_cross()
    for name, groups in FITTED:
        with open(path_of(name), newline="") as file:
            gpus = sorted({r["hw"] for r in csv.DictReader(file)})
        for hw in gpus:
            wanted = [g for g in groups if any(p in f"{name}/{hw}/{g}" for p in part.split(","))]
            for group in wanted:
                with tempfile.TemporaryDirectory() as folder:
                    command = [PROGRAM, "calibrate", "--hw", hw, "--measurements", path_of(name), "--workload-root", f"{DATA}/workloads", "--fresh", "--fit", group, "-o", f"{folder}/hw.yaml", "--json", f"{folder}/fit.json"]
                    done = subprocess.run(command, capture_output=True, text=True)
                    try:
                        with open(f"{folder}/fit.json") as file:
                            fits = json.load(file)["groups"]
                    except FileNotFoundError:
                        print(f"{name} {hw} {group}: {done.stderr.strip()}", file=sys.stderr)
                        continue
                for fit in fits:
                    if fit["rows"]:
                        keep_fit(found, name, hw, fit)
                write_cross(found)


def take_fits(folder):
    """What `calibrate --json` wrote."""
    found, name_of = read_cross(), {g: name for name, groups in FITTED for g in groups}
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".json"):
            with open(f"{folder}/{entry}") as file:
                d = json.load(file)
            for fit in d["groups"]:
                if fit["rows"] and fit["name"] in name_of:
                    keep_fit(found, name_of[fit["name"]], d["hw"], fit)
    write_cross(found)


def cross_of(name, hw, group):
    r = CROSS_VALIDATED.get((name, hw, group))
    return float(r["mean"]) if r else None


def cross_mean(name, d, group):
    """Of all GPUs of the rows, by rows; None unless all are there."""
    each = [CROSS_VALIDATED.get((name, hw, group)) for hw in {r["hw"] for r in d["rows"]}]
    if not each or None in each:
        return None
    rows = sum(int(r["rows"]) for r in each)
    return sum(int(r["rows"]) * float(r["mean"]) for r in each) / rows


# Sections

def by_gpu(name, title, how, group=None, into_summary=True):
    d, command = validate(name, *how, "--by", "hw")
    if not d:
        return
    say(f"**{title}**", "")
    cross = [cross_of(name, g["hw"], group) for g in d["by"]] if group else []
    some = any(c is not None for c in cross)
    table(["GPU"] + ERRORS + (["not fitted"] if some else []),
          [[g["hw"]] + errors(g) + ([percent(cross[i])] if some else []) for i, g in enumerate(d["by"])])
    said(command)
    if into_summary:
        summarise(f"{name.split('_')[0]} {title}", d, cross=cross_mean(name, d, group) if group else None)


def neusight():
    say("## Single operators, FP32 (NeuSight)", "", "PyTorch 2.1 in eager mode, true FP32, tensors mostly larger than L2. *not fitted*: mean error on rows that were left out of the fit, 5-fold",
        "cross-validated; linear and bmm share their scalars and that figure.", "")
    for title, how, group, _, _ in NEUSIGHT:
        by_gpu("neusight", title, how, group)
    by_gpu("neusight", "bmm FP32, L4 and T4, above 20 ms", ("--match", "/l4/ops/bmm/", "--match", "/t4/ops/bmm/", "--above", "20ms"))
    say("L4 and T4 are power limited; below 20 ms equal products differ by up to 19 % from run to run.", "")
    chart("neusight", "neusight", "NeuSight")


def aiconfigurator():
    say("## Matrix products and attention, bf16 (aiconfigurator)", "", "Kernels replayed from CUDA graphs; weights rotated, so that large ones are cold in L2.", "")
    for name, title, group in (("aiconfigurator_gemm", "bf16 GEMM", "gemm_tensor"), ("aiconfigurator_attention", "bf16 attention", "attention")):
        by_gpu(name, title, (), group)
        by_gpu(name, f"{title}, above 100 us", ("--above", "100us"))
        chart(name, name, title)
    for title, group, folder in (("bf16 GEMM on B200", "gemm_tensor", "/ops/matmul/"), ("bf16 attention on B200", "attention", "/ops/attention/")):
        by_gpu("aiconfigurator_b200", title, ("--match", folder), group)


SERVING = (("aiconfigurator_gemm_f8", "FP8 products with quantising"), ("aiconfigurator_gemm_int", "INT8 products, 8-bit weights"), ("aiconfigurator_gemm_w4", "products with 4-bit weights"),
           ("aiconfigurator_gemm_nvfp4", "NVFP4 products"), ("aiconfigurator_quantize", "quantising"), ("aiconfigurator_context_attention", "prefill attention"),
           ("aiconfigurator_decode_attention", "decode attention"), ("aiconfigurator_mla", "multi-head latent attention"), ("aiconfigurator_moe", "mixtures of experts"),
           ("aiconfigurator_moe_nvfp4", "mixtures of experts, NVFP4"), ("collectives", "collectives"))


def serving():
    say("## Calls of serving stacks, and collectives", "", "vLLM, SGLang, TensorRT-LLM and NCCL, replayed. The numbers of their equations (docs/MODEL.md) were fitted to these rows: the errors are of fitted rows. [rooflines.md](rooflines.md) has those of rows not fitted, and of a roofline and the best fit of it.", "")
    rows, commands = [], []
    for name, title in SERVING:
        d, command = validate(name, "--by", "workload,hw")
        if not d or not d["overall"]:
            continue
        commands.append(command)
        rows += [[title, g["workload"], g["hw"]] + errors(g) for g in d["by"] if g["rows"]]
        o = d["overall"][0]
        summary.append([f"{title}, as serving stacks run them" if name != "collectives" else "collectives of 2 to 8 GPUs", o["rows"], all_gpus(d), percent(o["mape"]), percent(o["median"]), percent(o["p90"]), "-", whole(o["coverage"])])
    table(["rows", "workload", "GPU"] + ERRORS, rows, 3)
    for command in commands:
        said(command)


def level1():
    say("## Single operators of KernelBench (v01, level 1)", "", "Storage f32; convolutions in TF32, products in true FP32; L2 thrashed before each call. A few operators of one GPU can make most of a mean.", "")
    rows, commands = [], []
    for title, classes in LEVEL1:
        how = ("--match", "/v01/l1/", "--class", classes)
        d, command = validate("kernelbench_v01", *how, "--by", "strategy")
        if not d:
            continue
        commands.append(command)
        per, _ = validate("kernelbench_v01", *how, "--by", "strategy,hw")
        for g in d["by"]:
            rows.append([title, g["strategy"], "all"] + errors(g))
            rows += [["", "", p["hw"]] + errors(p) for p in per["by"] if p["strategy"] == g["strategy"]]
        cross = cross_mean("kernelbench_v01", d, "convolutions") if classes == "convolution" else None
        for g in d["by"]:
            if g["strategy"] == "eager":
                summarise(f"kernelbench v01 level 1, eager: {title}", d, g, cross)
    table(["operators", "strategy", "GPU"] + ERRORS, rows, 3)
    for command in commands:
        said(command)
    say("(and `--by strategy,hw` for the lines by GPU)", "")
    chart("kernelbench_v01", "kernelbench_v01_l1", "KernelBench v01 level 1", "--match", "/v01/l1/")


SPEEDUPS = ["pairs", "mean %", "median", "p90", "rank", "verdict right %", "(majority)", "helps right %", "(majority)"]


def speedup(g):
    rank = "-" if g["rank"] is None else f"{g['rank']:.2f}"
    return [g["pairs"], percent(g["mape"]), percent(g["median"]), percent(g["p90"]), rank, whole(g["right"]), whole(g["majority"]), whole(g["helps_right"]), whole(g["helps_majority"])]


def speedups(d):
    if "speedup_overall" not in d:
        return
    say("Speedup of torch.compile over eager, predicted against measured. Verdict: fusion helps by more than 5 %, hurts, or neither; helps: or not. *majority*: how",
        "often it would be right to give always the answer that is right most often.", "")
    all_pairs = dict(d["speedup_overall"])
    per = [[g["hw"] + ("" if all(f["folder"] == g["folder"] for f in d["speedup"]) else f" {g['folder'].split('/')[-1]}")] + speedup(g) for g in d["speedup"]]
    table(["GPU"] + SPEEDUPS, per + [["all"] + speedup(all_pairs)])
    v = all_pairs["verdicts"]
    names = ("helps", "neither", "hurts")
    table(["measured", *(f"predicted: {n}" for n in names)], [[m, *(v[m][p] for p in names)] for m in names])


def level(number, what):
    say(f"## {what} (KernelBench v01, level {number})", "")
    d, command = validate("kernelbench_v01", "--match", f"/v01/l{number}/", "--by", "strategy,hw")
    whole_level, _ = validate("kernelbench_v01", "--match", f"/v01/l{number}/", "--by", "strategy")
    rows = []
    for g in whole_level["by"]:
        rows += [[p["strategy"], p["hw"]] + errors(p) for p in d["by"] if p["strategy"] == g["strategy"]] + [[g["strategy"], "all"] + errors(g)]
        summarise(f"kernelbench v01 level {number}, {g['strategy']}", whole_level, g)
    table(["strategy", "GPU"] + ERRORS, rows, 2)
    said(command)
    speedups(d)
    v = d.get("speedup_overall")
    if v:
        summary.append([f"kernelbench v01 level {number}, speedup of inductor over eager", v["pairs"], len(d["speedup"]), percent(v["mape"]), percent(v["median"]), percent(v["p90"]), "-", "-"])
    if number == 2:
        say("XLA:GPU's own cost model, run on the graphs of levels 1 and 2, is off by a median of 21 to 23 % (mean 70 to 103 %) where it prices them at all; a roofline of the",
            "data sheet by 42 to 58 % on level 2.", "")
    said(command)
    chart("kernelbench_v01", f"kernelbench_v01_l{number}", f"KernelBench v01 level {number}", "--match", f"/v01/l{number}/")


def v0():
    say("## KernelBench v0, above 0.3 ms", "", "Smaller shapes, L2 not flushed; rows below 0.3 ms measure the host's launches more than kernels.", "")
    how = ("--above", "300us")
    d, command = validate("kernelbench_v0", *how, "--by", "folder,strategy")
    per, per_command = validate("kernelbench_v0", *how, "--by", "folder,strategy,hw")
    rows = []
    for g in d["by"]:
        rows += [[g["folder"].split("/")[-1], g["strategy"], "all"] + errors(g)]
        rows += [["", "", p["hw"]] + errors(p) for p in per["by"] if (p["folder"], p["strategy"]) == (g["folder"], g["strategy"])]
        summary.append([f"kernelbench v0 level {g['folder'][-1]} above 0.3 ms, {g['strategy']}", g["rows"], sum((p["folder"], p["strategy"]) == (g["folder"], g["strategy"]) for p in per["by"]),
                        percent(g["mape"]), percent(g["median"]), percent(g["p90"]), "-", whole(g["coverage"])])
    table(["level", "strategy", "GPU"] + ERRORS, rows, 3)
    said(per_command)
    speedups(d)
    said(command)
    chart("kernelbench_v0", "kernelbench_v0", "KernelBench v0", *how)


def others():
    say("## fp16 GEMM (LLMCompass)", "", "Wall clock, with 25 to 30 us of the host in it.", "")
    by_gpu("llmcompass", "fp16 GEMM", ())
    raw = f"{DATA}/measured/liger_pairs_raw.csv"
    if os.path.exists(raw):
        say("## Fused against unfused kernels (Liger)", "", "Forward passes above 0.1 ms; eager PyTorch, torch.compile, and Liger's Triton kernels (rows `optimal`, predicted as what Liger launches: `src/vendor/liger.def`), with what `do_bench` measures beside.", "")
        with tempfile.TemporaryDirectory() as folder:
            rows = f"{folder}/liger.csv"
            subprocess.run([f"{HERE}/bench/liger.sh", raw, rows], check=True, stdout=subprocess.DEVNULL)
            per, _ = validate(rows, "--by", "strategy,hw")
            work, _ = validate(rows, "--by", "workload,strategy")
            d, _ = validate(rows, "--by", "strategy")
            table(["strategy", "GPU"] + ERRORS, [[g["strategy"], g["hw"]] + errors(g) for g in per["by"]], 2)
            table(["workload", "strategy"] + ERRORS, [[g["workload"], g["strategy"]] + errors(g) for g in work["by"]], 2)
            for g in d["by"]:
                summarise(f"liger forward above 0.1 ms, {g['strategy']}", d, g)
            all_pairs = [g for g in d.get("speedup", [])]
            if all_pairs:
                table(["strategy", "GPU"] + SPEEDUPS, [[g["strategy"], g["hw"]] + speedup(g) for g in all_pairs], 2)
        for by in ("strategy,hw", "workload,strategy"):
            said(f"bench/liger.sh DATA/measured/liger_pairs_raw.csv && fusesim validate --measurements build/liger.csv --by {by}")


def models():
    say("## Whole models, fused against unfused", "", "BERT-Large and GPT2-Large, FP32, torch.compile against eager. The published learned model (NeuSight) is off by 7.4 % in the mean of these speedups, 18.1 % at worst.", "")
    d, command = validate(f"{HERE}/validate/measured/model_pairs.csv", "--by", "strategy")
    size = [abs(p["error"]) for p in d["pairs"]]
    table(["pair", "measured", "predicted", "error %"], [[p["eager"].rsplit("/", 1)[0], f"{p['measured']:.3f}x", f"{p['predicted']:.3f}x", percent(p["error"], True)] for p in d["pairs"]])
    say(f"Mean error of the speedups {percent(sum(size) / len(size))} %, worst {percent(max(size))} %. Their times:", "")
    table(["strategy"] + ERRORS, [[g["strategy"]] + errors(g) for g in d["by"]])
    said(command)
    summary.append([f"{len(size)} whole-model pairs: speedup", len(size), all_gpus(d), percent(sum(size) / len(size)), percent(sorted(size)[len(size) // 2 - 1] / 2 + sorted(size)[len(size) // 2] / 2), "-", "-", "-"])


def training():
    """Rows of trainings: forward, backward, both, sums of gradients; peaks of memory."""
    if not os.path.exists(path_of("training_given")):
        return
    say("## Training", "", "Forward and backward passes: of whole models and of operators inside them (NeuSight: `backward`, `full`; `accumulate` adds gradients to `.grad`), and of Liger's pairs, fused (rows `optimal`, predicted as what Liger launches) and",
        "unfused. NeuSight's learned model is off by 7.3 % on whole trainings.", "")
    by = "source,mode,strategy"
    d, command = validate("training_given", "--match", "neusight", "--match", "liger/", "--by", by)
    table(["source", "mode", "strategy"] + ERRORS, [[g["source"], g["mode"], g["strategy"]] + errors(g) for g in d["by"] if g["rows"]], 3)
    said(command)
    above, command = validate("training_given", "--match", "/ops/", "--above", "20us", "--by", "class,mode")
    say("Operators above 20 us inside NeuSight's trainings, by kind of work:", "")
    table(["class", "mode"] + ERRORS, [[g["class"], g["mode"]] + errors(g) for g in above["by"] if g["rows"]], 2)
    said(command)
    liger, command = validate("training_given", "--match", "liger/", "--above", "300us", "--by", "workload,mode,strategy")
    say("Liger's, above 0.3 ms, by workload:", "")
    table(["workload", "mode", "strategy"] + ERRORS, [[g["workload"], g["mode"], g["strategy"]] + errors(g) for g in liger["by"] if g["rows"]], 3)
    if "speedup_overall" in liger:
        o = liger["speedup_overall"]
        table(["pairs"] + SPEEDUPS, [["fused over eager"] + speedup(o)], 1)
        say(f"Which of the two is faster is predicted right for {whole(o['faster_right'])} % of the {o['pairs']} pairs.", "")
    said(command)
    whole_models = [r for r in d["rows"] if r["workload"].startswith("models/") and r.get("mode") == "full" and "excluded" not in r]
    size = sorted(abs(r["error"]) for r in whole_models)
    if size:
        middle = (size[(len(size) - 1) // 2] + size[len(size) // 2]) / 2
        summary.append(["whole-model training, forward and backward", len(size), len({r["hw"] for r in whole_models}), percent(sum(size) / len(size)), percent(middle), "-", "-", "-"])
    if above["overall"]:
        backward = [g for g in validate("training_given", "--match", "/ops/", "--above", "20us", "--by", "mode")[0]["by"] if g["mode"] == "backward"]
        for g in backward:
            summary.append(["backward operators above 20 us", g["rows"], all_gpus(above), percent(g["mape"]), percent(g["median"]), percent(g["p90"]), "-", whole(g["coverage"])])
    steps, command = validate("training_given", "--match", "foundry/", "--by", "workload,hw")
    if steps["overall"]:
        say("Whole steps of llm-foundry's MPT models on 8 to 512 GPUs, forward, backward, activation checkpointing, gradient accumulation and the sharded update. Nothing is fitted to them; what the GPUs send each other is not",
            "priced, so steps that wait for it are predicted too short:", "")
        table(["workload", "GPU"] + ERRORS, [[g["workload"], g["hw"]] + errors(g) for g in steps["by"] if g["rows"]], 2)
        said(command)
        o = steps["overall"][0]
        summary.append(["whole steps of training, MPT 125M to 70B", o["rows"], all_gpus(steps), percent(o["mape"]), percent(o["median"]), percent(o["p90"]), "-", whole(o["coverage"])])
    memory, command = validate("training_memory_given", "--match", "liger/", "--by", by)
    say("Peaks of memory:", "")
    table(["source", "mode", "strategy"] + ERRORS[:-1], [[g["source"], g["mode"], g["strategy"]] + errors(g)[:-1] for g in memory["by"] if g["rows"]], 3)
    said(command)


def unseen():
    say("## GPUs that nothing was measured on", "", "Each GPU predicted as if it had a data sheet only: its scalars come from those of its kin, never from itself. Published errors for unseen GPUs beside: of",
        "NeuSight's learned model and of a plain roofline. Mean error, % .", "")
    gpus, cells, overall, rows, commands = [], {}, {}, [], []
    for title, how, _, _, _ in NEUSIGHT:
        d, command = validate("neusight", *how, "--unseen", "--by", "hw")
        commands.append(command)
        overall[title] = d["overall"][0]
        for g in d["by"]:
            gpus += [g["hw"]] if g["hw"] not in gpus else []
            cells[g["hw"], title] = g["mape"]
    titles = [t for t, *_ in NEUSIGHT]
    rows = [[hw] + [percent(cells.get((hw, t))) for t in titles] for hw in sorted(gpus)]
    rows.append(["**all, each left out**"] + [f"**{percent(overall[t]['mape'])}**" for t in titles])
    rows.append(["median"] + [percent(overall[t]["median"]) for t in titles])
    rows.append(["in 80 % interval"] + [whole(overall[t]["coverage"]) for t in titles])
    rows.append(["learned model"] + [str(x) for *_, x, _ in NEUSIGHT])
    rows.append(["plain roofline"] + [str(x) for *_, x in NEUSIGHT])
    table(["GPU"] + titles, rows)
    for command in commands:
        said(command)
    more = []
    for name, title, how in (("aiconfigurator_gemm", "bf16 GEMM", ()), ("aiconfigurator_attention", "bf16 attention", ()), ("aiconfigurator_b200", "bf16 GEMM", ("--match", "/ops/matmul/")),
                             ("aiconfigurator_b200", "bf16 attention", ("--match", "/ops/attention/")), ("kernelbench_v01", "level 2", ("--match", "/v01/l2/"))):
        d, command = validate(name, *how, "--unseen", "--by", "hw")
        more += [[title, g["hw"]] + errors(g) for g in d["by"]]
        commands.append(command)
    table(["rows", "GPU"] + ERRORS, more, 2)
    for command in commands[-5:]:
        said(command)
    chart("neusight", "neusight_unseen", "NeuSight, each GPU left out", "--unseen")


BOTH = ("--measurements", f"{DATA}/measured/kernelbench_v0.csv", "--above", "300us")


def both(*how):
    """KernelBench v01 and v0 above 0.3 ms, together."""
    d, command = validate("kernelbench_v01", *BOTH, *how)
    return d, command.replace(f"{DATA}/", "DATA/")


def folded():
    say("Of rows that the intervals were not fitted to: rows in five folds by workload and shape, the widths of classes and their common errors fitted to the other four. KernelBench v01 and v0",
        "above 0.3 ms.", "")
    rows, commands = [], []
    for title, key in (("level", "folder"), ("class", "class"), ("GPU", "hw")):
        d, command = both("--folds", "5", "--by", key)
        commands.append(command)
        rows += [[title, g[key].replace("kernelbench/", ""), g["rows"], whole(g["coverage"])] for g in d["by"] if g["rows"]]
    rows.append(["all", "", d["overall"][0]["rows"], whole(d["overall"][0]["coverage"])])
    table(["by", "", "rows", "in 80 %"], rows, 2)
    single = [("neusight",), ("aiconfigurator_gemm",), ("aiconfigurator_attention",)]
    rows = []
    for (name,) in single:
        d, command = validate(name, "--folds", "5", "--by", "class")
        commands.append(command)
        rows += [[name, g["class"], g["rows"], whole(g["coverage"])] for g in d["by"] if g["rows"]]
    table(["file", "class", "rows", "in 80 %"], rows, 2)
    for command in commands:
        said(command)


def called():
    say("Verdicts: a pair of an eager and a compiled run is *called* where the interval of the predicted speedup leaves out 1, so that a report says \"helps\" or \"hurts\" and not \"no difference\".",
        "*right*: the measured speedup is on the same side of 1.", "")
    rows, commands = [], []
    for number, what in ((1, "single operators"), (2, "chains"), (3, "networks")):
        d, command = both("--match", f"/l{number}/")
        v = d["speedup_overall"]
        commands.append(command)
        rows.append([f"level {number}, {what}", v["pairs"], whole(v["coverage"]), whole(v["called"]), whole(v["called_right"])])
    table(["rows", "pairs", "in 80 %", "called %", "of them right %"], rows)
    for command in commands:
        said(command)


def coverage():
    say("## Intervals", "", "Share of the measured times within the 80 % intervals.", "")
    folded()
    called()
    say("With the shipped hardware files, by what was computed.", "")
    rows, commands = [], []
    for name in FILES:
        d, command = validate(name, "--by", "class,strategy")
        commands.append(command)
        rows += [[name, g["class"], g["strategy"], g["rows"], whole(g["coverage"])] for g in d["by"] if g["rows"]]
        rows.append([name, "all", "", d["overall"][0]["rows"], whole(d["overall"][0]["coverage"])])
    table(["file", "class", "strategy", "rows", "in 80 %"], rows, 3)
    for command in commands:
        said(command)


def excluded():
    say("## Rows left out", "", "Told from the row, the data sheet and the prediction's inputs, never from the error.", "")
    rows, reasons, commands = [], [], []
    found = {}
    for name in FILES:
        d, command = validate(name)
        commands.append(command)
        for r in d["rows"]:
            if "excluded" in r:
                found[name, r["excluded"]] = found.get((name, r["excluded"]), 0) + 1
                reasons += [r["excluded"]] if r["excluded"] not in reasons else []
        out = sum("excluded" in r for r in d["rows"])
        rows.append((name, len(d["rows"]), out))
    reasons.sort()
    table(["file", "rows", "left out", "%"] + reasons, [[n, all_rows, out, f"{100 * out / all_rows:.1f}"] + [found.get((n, r), 0) for r in reasons] for n, all_rows, out in rows])
    for command in commands:
        said(command)


def included(path, otherwise):
    try:
        with open(path) as file:
            return file.read().rstrip("\n").split("\n")
    except FileNotFoundError:
        return [otherwise]


if CROSS != "-":
    cross_validate(CROSS)
if FITS:
    take_fits(FITS)
CROSS_VALIDATED = read_cross()
for section in (neusight, aiconfigurator, serving, level1, lambda: level(2, "Chains of three to eight operators"), lambda: level(3, "Networks"), v0, others, models, training, unseen, coverage, excluded):
    section()
say("## Rows predicted a second", "", "Single operators on one core: rows, seconds of processor time, rows a second; `bench/validate.sh`, stored by `bench/accuracy.sh --rate`.", "",
    "```", *included(f"{OUT}/accuracy/rate.txt", "not measured"), "```", "")
say(*included(f"{HERE}/reports/accuracy_notes.md", ""))
body, report = report, []
say("# How accurate the predictions are", "",
    "Made by `bench/accuracy.sh DATA` from public measurements (other people's, kept outside of this repository: DATA) and the hardware files in `hwmodels/`. Do not edit:",
    "the last section comes from `accuracy_notes.md`.", "",
    "Error: predicted over measured, less 1; *mean* is the mean of its size, *bias* of itself, in percent. *in 80 %*: the share of measured times inside the predictions'",
    "80 % intervals. *not fitted*: mean error on rows that the scalars were not fitted to, 5-fold cross-validated (`bench/accuracy.sh --cross-validate`, kept in",
    "`accuracy/cross_validated.csv`); a dash where nothing was fitted to such rows or it has not been run for all GPUs. Other columns are with the shipped hardware files.", "",
    "## Summary", "", "<!-- summary -->")
table(["rows", "number", "GPUs", "mean %", "median", "p90", "not fitted", "in 80 %"], summary)
report[-1] = "<!-- end -->"
say("")
with open(f"{OUT}/accuracy.md", "w") as file:
    file.write("\n".join(report + body).rstrip("\n") + "\n")
print(f"{len(summary)} lines in the summary")
