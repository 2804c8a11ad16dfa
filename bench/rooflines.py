# SPDX-License-Identifier: Apache-2.0
"""bench/rooflines.py PROGRAM DATA [--fit[=FILE,...]]: the table of reports/rooflines.md; bench/rooflines.sh says what it has. --fit: see there."""
import csv
import datetime
import json
import math
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, DATA = sys.argv[1], sys.argv[2]
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Files whose rows share numbers, or widths of intervals, are read together.
FILES = (("gemm_f8", "gemm_int", "gemm_w4", "gemm_nvfp4"), ("quantize",), ("context_attention", "decode_attention"), ("mla",), ("moe", "moe_nvfp4"), ("collectives",))
WEIGHT = {"matmul_i8": 1, "matmul_w8": 1, "matmul_w4": .5, "matmul_nvfp4": .5625, "moe": 2, "moe_nvfp4": .5625}
UNIT = {"matmul_i8": "tensor_i8", "matmul_nvfp4": "tensor_f4", "moe_nvfp4": "tensor_f4"}
# What is asked for, mean and median %, by how the name of the rows begins and by GPU; the first that holds.
LIMITS = (("matmul_f8", "", 12, 8), ("matmul", "", 15, 10), ("attention", "", 12, 8), ("context_attention", "", 15, 10), ("decode_attention", "b200", 15, None), ("decode_attention", "", 12, 8),
          ("context_mla", "", 12, 8), ("decode_mla", "", 12, 8), ("quantize", "l40s", None, None), ("quantize", "", 10, 7), ("collectives", "l40s", 15, None), ("collectives", "", 12, 8),
          ("bf16 matmul", "", 10, 7), ("bf16 attention", "", 12, 8))
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")


def limit_of(name, gpu):
    if name.startswith("moe"):
        return (20, 12) if name.endswith("skewed") else (15, None)
    return next(((mean, median) for begins, of, mean, median in LIMITS if name.startswith(begins) and gpu.startswith(of)), (None, None))


def path_of(name):
    return os.path.join(DATA, "measured", (name if name == "collectives" else "aiconfigurator_" + name) + ".csv")


def work(kind, v):
    """Operations, the unit that does them, and bytes that must move, of one row; of a collective, those that each GPU sends."""
    n = lambda k: float(v[k])
    if kind in COLLECTIVES:
        r = float(v.get("ranks", 2))
        return 0, None, 2 * n("elements") * (1 if kind == "send_recv" else (2 if kind == "all_reduce" else 1) * (r - 1) / r)
    cache = 1 if v.get("kv_dtype", "").startswith("f8") else 2
    unit = UNIT.get(kind, "tensor_f8" if "_f8" in kind else "tensor_f16")
    if kind.startswith("matmul"):
        m, cols, k = n("M"), n("N"), n("K")
        return 2 * m * cols * k, unit, 2 * m * k + WEIGHT.get(kind, 1) * cols * k + 2 * m * cols
    if kind.startswith("quantize"):
        return 0, unit, 3 * n("M") * n("K")
    if kind.startswith("moe"):
        rows, active = n("active") * n("rows"), n("active")
        return 6 * rows * n("H") * n("F"), unit, active * 3 * n("H") * n("F") * WEIGHT.get(kind, 1) + 4 * n("T") * n("H")
    if kind == "context_mla":  # features: 192 of a query and key, 128 of a value
        points = n("B") * n("heads") * n("S")
        return points * n("S") / 2 * 2 * (192 + 128), unit, 2 * points * 2 * (192 + 128)
    if kind == "decode_mla":  # absorbed: 576 of a key, 512 of a value, one for all heads
        return 2 * n("B") * n("heads") * n("S") * (576 + 512), unit, cache * n("B") * n("S") * 576 + 2 * n("B") * n("heads") * (576 + 512)
    if kind == "decode_attention":
        return 4 * n("B") * n("heads") * n("S") * n("D"), unit, 2 * cache * n("B") * n("kv_heads") * n("S") * n("D") + 4 * n("B") * n("heads") * n("D")
    queries, keys = float(v.get("Sq") or v["S"]), float(v.get("Sk") or v["S"])
    causal = .5 if v.get("causal", "1") == "1" and queries == keys else 1
    moved = 2 * (2 * n("B") * n("heads") * queries * n("D") + 2 * n("B") * n("kv_heads") * keys * n("D"))
    written = 2 * cache * n("B") * n("kv_heads") * keys * n("D") if kind == "context_attention" else 0
    return 4 * n("B") * n("heads") * queries * keys * n("D") * causal, unit, moved + written


def hardware(name, kept={}):
    if name not in kept:
        keys = json.loads(subprocess.run([PROGRAM, "hw", "show", name, "--json", "-"], capture_output=True, text=True, check=True).stdout)["keys"]
        kept[name] = {k: x["value"] for k, x in keys.items()}
    return kept[name]


def mean_and_median(pairs):
    all_ = sorted(abs(p / m - 1) for p, m in pairs)
    return (100 * sum(all_) / len(all_), 100 * all_[len(all_) // 2]) if all_ else (None, None)


def shown(figures):
    return "-" if figures[0] is None else "%.1f (%.1f)" % figures


def three_numbers(rows):
    """The start and the shares with the least mean size of the logarithm's error: a pattern search from several starts."""
    def off(x):
        a, p, q = (math.exp(min(50, v)) for v in x)
        return sum(abs(math.log((a + max(c / p, d / q)) / m)) for c, d, m in rows) / len(rows)
    best = None
    for start in ((2e-6, .5, .7), (2e-5, .3, .5)):
        x, step = [math.log(v) for v in start], .8
        least = off(x)
        while step > .01:
            moved = False
            for i in range(3):
                for by in (step, -step):
                    y = list(x)
                    y[i] += by
                    o = off(y)
                    if o < least:
                        x, least, moved = y, o, True
            step = step if moved else step / 2
        best = min(best or (least, x), (least, x))
    return tuple(math.exp(v) for v in best[1])


def validated(names, *options):
    """What `fusesim validate` says of these files' rows, and rows a second."""
    files = [word for name in names for word in ("--measurements", path_of(name))]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.json")
        said = subprocess.run([PROGRAM, "validate", *files, "--workload-root", os.path.join(DATA, "workloads"), *options, "--verbose", "--json", out], capture_output=True, text=True)
        rate = re.search(r"(\d+) rows a second and core", said.stderr)
        return (json.load(open(out)) if os.path.exists(out) else {"rows": []}), rate and int(rate[1])


def name_of(kind, v):
    return "collectives" if kind in COLLECTIVES else kind + (", skewed" if float(v["alpha"]) > 0 else ", balanced") if kind.startswith("moe") else kind


def line_of(name, gpu, rows):
    """rows: (seconds of operations, of bytes, measured, predicted as shipped, row of --refit or None)"""
    a, p, q = three_numbers([x[:3] for x in rows])
    held = [(x[4]["predicted_s"], x[2]) for x in rows if x[4]]
    inside = [x[4]["time_low_s"] <= x[2] <= x[4]["time_high_s"] for x in rows if x[4]]
    figures, limits = mean_and_median(held), limit_of(name, gpu)
    meets = None if figures[0] is None or limits[0] is None else figures[0] <= limits[0] and figures[1] <= (limits[1] or 100)
    asked = "-" if limits[0] is None else "%g%s" % (limits[0], " (%g)" % limits[1] if limits[1] else "")
    return "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %.3g; %.2f, %.2f |" % (
        name, gpu, len(rows), shown(mean_and_median([(max(x[0], x[1]), x[2]) for x in rows])), shown(mean_and_median([(a + max(x[0] / p, x[1] / q), x[2]) for x in rows])),
        shown(mean_and_median([(x[3], x[2]) for x in rows])), shown(figures), asked, "-" if meets is None else "yes" if meets else "**no**",
        "-" if not inside else "%.0f" % (100 * sum(inside) / len(inside)), a * 1e6, min(p, 99), min(q, 99)), meets


def shared_layouts(rows):
    """The ids of experts' rows whose layout (hidden width, a rank's width, experts of a rank) another model of these rows has, too, on some number of ranks: the collector keeps the library's tuning
    under these three numbers, but the library looks it up with the experts a token and the numbers of ranks besides, so that of two such models one ran untuned. In NVFP4 each layout of a model of at
    most 256 experts was collected twice, for two of the library's backends, and both have one file: about half of these rows ran untuned."""
    models, of = set(), {}
    for r, v in rows:
        models.add((int(v["H"]), int(v["F"]) * int(v["tp"]), int(v["experts"]), int(v["topk"])))
    for h, f, e, k in models:
        for ranks in (1 << i for i in range(10)):
            for tp in (1 << i for i in range(7)):
                if e % ranks == 0 and f % tp == 0:
                    of.setdefault((h, f // tp, e // ranks), set()).add((f, e, k))
    twice = lambda r, v: "nvfp4" in r["workload"] and int(v["experts"]) <= 256
    return {r["id"] for r, v in rows if twice(r, v) or len(of.get((int(v["H"]), int(v["F"]), int(v["experts"]) // int(v["ep"])), ())) > 1}


def lines_of_tuned(names, held):
    """Of the experts' rows that TensorRT-LLM ran: errors of rows not fitted, all, of shared layouts, and of others."""
    kinds, out = {}, []
    for name in names:
        for r in csv.DictReader(open(path_of(name))):
            if "trtllm" in r["source"] and r["id"] in held:
                v = dict(x.split("=") for x in r["set"].split(";"))
                kinds.setdefault((name_of(r["workload"].split("/")[1], v), r["workload"], r["hw"]), []).append((r, v))
    for (kind, workload, gpu), rows in sorted(kinds.items()):
        shared = shared_layouts([x for k, group in kinds.items() if k[1:] == (workload, gpu) for x in group])
        figures = [mean_and_median([(held[r["id"]]["predicted_s"], float(r["time_s"])) for r, _ in rows if want is None or (r["id"] in shared) == want]) for want in (None, True, False)]
        count = sum(r["id"] in shared for r, _ in rows)
        mean, median = limit_of(kind, gpu)
        out.append("| %s | %s | %s | %d | %s | %d | %s | %g%s |" % (kind, gpu, shown(figures[0]), count, shown(figures[1]), len(rows) - count, shown(figures[2]), mean, " (%g)" % median if median else ""))
    return out


def groups_of(names, refit):
    """Rows by (name, GPU)."""
    shipped, rate = validated(names)
    predicted = {r["id"]: r["predicted_s"] for r in shipped["rows"]}
    held = {r["id"]: r for r in refit["rows"] if not r.get("excluded")}
    groups = {}
    for name in names:
        for r in csv.DictReader(open(path_of(name))):
            kind, hw, v = r["workload"].split("/")[1], hardware(r["hw"]), dict(x.split("=") for x in r["set"].split(";"))
            ops, unit, moved = work(kind, v)
            if predicted.get(r["id"]):
                groups.setdefault((name_of(kind, v), r["hw"]), []).append((ops / hw[unit] if ops else 0, moved / hw["dram_bandwidth" if unit else "link_bandwidth"], float(r["time_s"]),
                                                                         predicted[r["id"]], held.get(r["id"])))
    return groups, rate, len(predicted)


def lines_of_b200():
    """bf16 products and attention of B200's sample, whose numbers are keys of its hardware file: fusesim calibrate fits these in the same folds."""
    out = []
    if not os.path.exists(path_of("b200")):
        return out
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "fit.json")
        subprocess.run([PROGRAM, "calibrate", "--hw", "b200", "--measurements", path_of("b200"), "--fresh", "--fit", "gemm_tensor,attention", "--json", to], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        groups = json.load(open(to))["groups"] if os.path.exists(to) else []
    for g in groups:
        name, after = "bf16 " + {"gemm_tensor": "matmul"}.get(g["name"], g["name"]), g["after"]
        mean, median = limit_of(name, "b200")
        meets = 100 * after["mape"] <= mean and 100 * after["median"] <= median
        out.append(("| %s | b200 | %d | - | - | %s | %s | %g (%g) | %s | - | - |" % (
            name, g["rows"], shown((100 * g["fitted"]["mape"], 100 * g["fitted"]["median"])), shown((100 * after["mape"], 100 * after["median"])), mean, median, "yes" if meets else "**no**"), meets))
    return out


def number_text(x):
    return re.sub(r"e([-+])0", r"e\1", "%.4g" % x)


def put_numbers(fit):
    """Into the table: the numbers of rows that the fit to all of their rows made better."""
    path = os.path.join(TOP, "src", "cost/collective.def" if fit["table"] == "FSIM_COLLECTIVE" else "vendor/serving_fit.def")
    text = open(path).read()
    rows = [m for m in re.finditer(r"^%s\((.*)\)(.*)$" % fit["table"], text, re.M)]
    m = rows[fit["place"]]
    if "CUSTOM" in m[1]:  # a workload may ask for either protocol: they may not change places, nor one be lost
        return
    words = m[1].split(",")
    kept = len(words) - len(fit["numbers"])
    line = "%s(%s, %s)%s" % (fit["table"], ",".join(words[:kept]), ", ".join(map(number_text, fit["numbers"])), m[2])
    open(path, "w").write(text[:m.start()] + line + text[m.end():])


def put_widths(widths, files):
    today = datetime.date.today().isoformat()
    for hw in sorted({w["hw"] for w in widths}):
        path = os.path.join(TOP, "hwmodels", hw + ".yaml")
        text = open(path).read()
        for w in (x for x in widths if x["hw"] == hw):
            line = '%-30s {value: %.4g, spread: %.4g, source: "fitted: %s, %d rows of families not fitted, %s"}\n' % (
                w["key"] + ":", w["width"], 1 / math.sqrt(2 * w["rows"]), files, w["rows"], today)
            text, found = re.subn(r"^%s: .*\n" % w["key"], lambda _: line, text, flags=re.M)
            text = text if found else text.rstrip("\n") + "\n" + line
        open(path, "w").write(text)


def main():
    fit = next((a for a in sys.argv if a.startswith("--fit")), None)
    only = fit.partition("=")[2].split(",") if fit and "=" in fit else [n for names in FILES for n in names]
    lines, rates, counts, tuned = [], [], [0, 0], []
    for names in FILES:
        names = [n for n in names if os.path.exists(path_of(n))]
        if not names or not any(n in only for n in names):
            continue
        refit, _ = validated(names, "--refit")
        if fit:
            for x in refit.get("refits", []):
                if x["after"] < .995 * x["before"]:
                    put_numbers(x)
                    print("%s %d: %.2f %% and not %.2f %%" % (x["table"], x["place"], 100 * x["after"], 100 * x["before"]), file=sys.stderr)
            put_widths(refit.get("refit_widths", []), " and ".join(os.path.basename(path_of(n)) for n in names))
            continue
        groups, rate, rows = groups_of(names, refit)
        if any(n.startswith("moe") for n in names):
            tuned = lines_of_tuned(names, {r["id"]: r for r in refit["rows"] if not r.get("excluded")})
        rates.append("| %s | %d | %s |" % (", ".join(os.path.basename(path_of(n)) for n in names), rows, rate))
        for (name, gpu), rows in sorted(groups.items()):
            lines.append(line_of(name, gpu, rows))
    if fit:
        return
    lines += lines_of_b200()
    for _, meets in lines:
        counts[0] += meets is True
        counts[1] += meets is not None
    print("""# What the model adds over a roofline

Made by `bench/rooflines.sh`; do not edit. Mean error in percent, median in brackets, on calls of serving stacks and collectives as they were measured (vLLM, SGLang, TensorRT-LLM, NCCL). *Data sheet*: the larger of operations over
the data sheet's rate and compulsory bytes over its bandwidth; of collectives, bytes over the link's. *Three numbers*: the best fit of that for each GPU and operator, a start and a share of each rate, to all of these rows. *fusesim*:
as shipped, with numbers fitted to these rows ([MODEL.md](../docs/MODEL.md#calls-of-serving-stacks-srcvendorservingh)).

*Not fitted*: `fusesim validate --refit`. All numbers of an operator's equations, for all GPUs of a design, fitted anew from starts that know no row to four of five folds of the rows, and the fifth predicted. A fold has whole families of
shapes on all GPUs together: products of one n and k with any m; attention of one number of heads, key heads and features with any batch and length; latent attention of one number of heads and one batch; one model's experts (hidden
width, experts, experts a token) with any width, tokens, ranks and skew; quantised rows of one width; collectives of one size. *Limit*: what is asked of rows not fitted. *In 80 %*: of these the share that lies within the shipped 80 %
intervals, whose widths are those of rows not fitted. A dash: too few rows (below three a number) for a fit. Of bf16 products and attention on B200 the numbers are keys of its hardware file, fitted in the same folds by
`fusesim calibrate --fresh`.
""")
    print("Within the limit: %d of %d.\n" % tuple(counts))
    print("| rows | GPU | number | data sheet | three numbers | fusesim | not fitted | limit | holds | in 80 % | start, us; shares of rate, bandwidth |\n|---|---|--:|--:|--:|--:|--:|--:|---|--:|---|")
    print("\n".join(line for line, _ in lines))
    if tuned:
        print("""
Mixtures of experts under TensorRT-LLM, errors of the same rows not fitted, by whether another model of the file has the row's layout, too (hidden width, a rank's width, experts of a rank). The collector of these rows
(aiconfigurator, `collector/trtllm/collect_moe.py`) keeps what the library tuned in a file named by these three numbers and takes an existing file instead of tuning; the library (`MoERunner.unique_id`) looks its kernels up with the
experts a token and the numbers of ranks besides. So of two models with one layout the one that came second ran untuned kernels, which take 2 to 5 times as long. Which one that was followed from a shuffle; a server tunes its own layout. In NVFP4
every layout of a model of at most 256 experts was collected for two backends of the library (`min_latency_mode`), which share the file: all of these rows count as shared. A row belongs to a column by its shape alone, whatever it took.

| rows | GPU | all | shared | errors | others | errors | limit |
|---|---|--:|--:|--:|--:|--:|--:|""")
        print("\n".join(tuned))
    print("\n| file | rows | predicted a second, one core |\n|---|--:|--:|")
    print("\n".join(rates))


main()
