# SPDX-License-Identifier: Apache-2.0
"""bench/serving_fit.py [--check PREDICTIONS] [--write] [--only=KIND/DESIGN] [KIND...]: fits the rows FSIM_SERVING_FLASH and FSIM_SERVING_DECODE of src/vendor/serving_fit.def
(KIND: causal, context, decode; all where none is named) to aiconfigurator's rows in $DATA (../shared/data beside this repository), and says how far off rows are that were
not fitted: five folds by a hash of the shape. --write puts the numbers into serving_fit.def. --check compares what `fusesim validate --json` predicted with the same
equations here, and fits nothing. The equations are those of src/vendor/serving_attention.c, whose head explains them. Needs numpy and scipy."""
import csv
import hashlib
import json
import os
import re
import sys

import numpy as np

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(os.environ.get("DATA", os.path.join(TOP, "..", "shared", "data")), "measured")
FITS = os.path.join(TOP, "src", "vendor", "serving_fit.def")
DESIGN = {"a100-sxm4-80gb": "AMPERE", "l40s": "ADA", "h100-sxm5-80gb": "HOPPER", "h200-sxm-141gb": "HOPPER", "b200": "BLACKWELL"}
UNITS = {"TFLOP/s": 1e12, "GB/s": 1e9, "MHz": 1e6, "us": 1e-6, "MiB": 2.0**20}
# src/vendor/constants.def
CONSTANT = {m[1]: float(m[2]) for m in re.finditer(r"^FSIM_CONSTANT\((\w+), *([-\d.e]+),", open(os.path.join(TOP, "src/vendor/constants.def")).read(), re.M)}
# A tiling: rows of queries of a block with up to 64 features, with more; keys of a step with up to 64, 128, 192, more features; whether the query heads that share a
# key head are rows of one tile; whether keys are split where blocks are few.
TILING = {"FLASH_2": (64, 64, (256, 128, 64, 64), False, False), "FLASH_3": (192, 128, (128, 128, 96, 64), True, True),
          "TILES_64": (64, 64, (64, 64, 64, 64), False, False), "TILES_128": (128, 128, (128, 128, 128, 128), False, False)}
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
FLASH = "floor share block filled step dram l2 write tail drift prepare".split()
FLASH_START = dict(floor=4, share=.6, block=2000, filled=2000, step=200, dram=.8, l2=.4, write=300, tail=.5, drift=.1, prepare=10)
DECODE = "floor step block row dram l2 joining each from share byte wide copies".split()
DECODE_START = {"floor": 3, "step": 400, "block": 2000, "row": 40, "dram": .85, "l2": .4, "joining": 2, "each": 100, "from": .4, "share": .5, "byte": 1, "wide": 1, "copies": 3}
MICRO = ("floor", "joining", "copies")  # in us here, in s in serving_fit.def
SHARES = ("share", "dram", "l2")        # none above 1
# What is fitted: kind, cache, designs, tiling, what is not fitted
WANTED = (
    ("CAUSAL", "", "AMPERE", "FLASH_2", dict(prepare=0)), ("CAUSAL", "", "ADA", "FLASH_2", dict(prepare=0)), ("CAUSAL", "", "HOPPER", "FLASH_3", dict(prepare=0)),
    ("CAUSAL", "", "BLACKWELL", "TILES_128", dict(prepare=0, drift=0)),
    ("CONTEXT", "", "AMPERE", "TILES_64", dict(write=0, prepare=0, drift=0)), ("CONTEXT", "", "ADA", "TILES_64", dict(write=0)),
    ("CONTEXT", "", "HOPPER", "TILES_128", dict(write=0)), ("CONTEXT", "", "BLACKWELL", "TILES_128", dict(write=0)),
    ("DECODE", "ANY", "AMPERE", "FLASH_2", dict(byte=1, wide=1)), ("DECODE", "ANY", "ADA", "FLASH_2", dict(byte=1, wide=1)),
    ("DECODE", "ANY", "HOPPER", "FLASH_3", dict(byte=1, wide=1, copies=0)), ("DECODE", "BYTE", "HOPPER", "FLASH_3", dict(byte=1, copies=0)),
    ("DECODE", "ANY", "BLACKWELL", "TRTLLM_GEN", dict(wide=1, copies=0, joining=0)), ("DECODE", "BYTE", "ADA", "FLASHINFER", dict(byte=1, wide=1, copies=0, row=0)),
    ("DECODE", "ODD", "ADA", "TRITON", dict(byte=1, wide=1, copies=0, row=0, joining=0, block=0)))


class Columns:
    """Arrays with an entry a row."""

    def part(self, mask):
        c = Columns()
        for k, v in self.__dict__.items():
            setattr(c, k, v[mask] if isinstance(v, np.ndarray) else v)
        return c


def hardware(name):
    h = {}
    for line in open(os.path.join(TOP, "hwmodels", name + ".yaml")):
        m = re.match(r"(\w+):\s+\{(.*?)source", line)
        for k, number, unit in re.findall(r"(\w+): ([\d.e+-]+) ?([^,}]*)", m[2]) if m else ():
            h[m[1] + "." + k] = float(number) * UNITS.get(unit.strip(), 1)
    return h


def rows_of(name):
    rows = []
    for r in csv.DictReader(open(os.path.join(DATA, name))):
        s = dict(kv.split("=") for kv in r["set"].split(";"))
        if r["hw"] in DESIGN:
            rows.append({"id": r["id"], "hw": r["hw"], "design": DESIGN[r["hw"]], "workload": r["workload"], "source": r["source"], "t": float(r["time_s"]), "s": s,
                         "byte": s.get("kv_dtype", "").startswith("f8"), "fold": int(hashlib.md5((r["workload"] + r["set"]).encode()).hexdigest(), 16) % 5})
    return rows


def columns(rows):
    c, known = Columns(), {gpu: hardware(gpu) for gpu in {r["hw"] for r in rows}}
    h = [known[r["hw"]] for r in rows]
    number = lambda *names: np.array([next(float(r["s"][n]) for n in names if n in r["s"]) for r in rows])
    key = lambda k: np.array([x[k] for x in h])
    c.batch, c.heads, c.kv, c.length, c.d = number("B"), number("heads"), number("kv_heads"), number("S", "Sq"), number("D")
    c.sms, c.clock, c.dram, c.l2, c.l2_bytes = key("sms.value"), key("sm_clock.peak"), key("dram_bandwidth.peak"), key("l2_bandwidth.achieved"), key("l2_capacity.value")
    c.rate, c.launch, c.shared = key("tensor_bf16.peak") / c.sms, key("launch_graph.value"), c.heads / c.kv
    c.byte, c.t, c.fold = np.array([r["byte"] for r in rows]), np.array([r["t"] for r in rows]), np.array([r["fold"] for r in rows])
    c.own = {k: np.array([x.get("serving_attention_%s.value" % k, 1) for x in h]) for k in ("causal", "context", "decode")}
    return c


def keys_of(tiling, d):
    return np.select([d <= 64, d <= 128, d <= 192], TILING[tiling][2][:3], TILING[tiling][2][3]).astype(float)


def walk(c, tiling):
    """Blocks of causal attention, the steps that a block takes in the mean and at most, and in how many parts its keys are."""
    most = 64
    rows, keys, packs = np.where(c.d <= 64, TILING[tiling][0], TILING[tiling][1]).astype(float), keys_of(tiling, c.d), TILING[tiling][3]
    group = c.shared if packs else np.ones(len(c.d))
    tiles = np.ceil(c.length * group / rows)
    j, some = np.arange(most)[None], tiles[:, None]
    tile, is_one = np.where(some > most, np.floor((j + .5) * some / most), j), j < some
    steps = np.ceil(np.minimum(c.length[:, None], (tile + 1) * (rows / group)[:, None]) / keys[:, None])
    c.rows, c.keys, c.blocks = rows, keys, c.batch * (c.kv if packs else c.heads) * tiles
    c.mean, c.most, c.fill = (steps * is_one).sum(1) / is_one.sum(1), np.ceil(c.length / keys), np.minimum(1, c.length * group / rows)
    few = TILING[tiling][4] & (c.blocks < CONSTANT["serving_few_blocks"] * c.sms) & (c.most > CONSTANT["serving_unsplit_steps"])
    c.parts = np.where(few, np.maximum(1, np.minimum(c.most, np.floor(c.sms / c.blocks))), 1)
    c.wide_d = np.where((tiling == "TILES_64") & (c.d > 128), 256, c.d)


def flash(c, f, kind):
    step = 4 * c.rows * c.keys * c.wide_d / (c.rate * f["share"]) + f["step"] * c.rows * c.keys / 128 / 128 / c.clock
    block = (f["block"] + f["filled"] * c.fill) / c.clock
    one, together = np.ceil(c.most / c.parts) * step + block, c.blocks * (c.mean * step + block * c.parts) / c.sms
    compute = np.maximum(one, together + f["tail"] * one * (c.blocks * c.parts > c.sms))
    queries, cache = 4 * c.batch * c.length * c.heads * c.d, 4 * c.batch * c.length * c.kv * c.d
    missed = np.clip(((queries + cache) / c.l2_bytes - CONSTANT["serving_flash_from"]) / CONSTANT["serving_flash_ramp"], 0, 1)
    byte = missed / (c.dram * f["dram"]) + (1 - missed) / (c.l2 * f["l2"])
    busy = np.cbrt(compute**3 + ((queries + cache) * byte)**3)
    busy *= 1 + f["drift"] * busy / (busy + CONSTANT["serving_long_s"])
    busy += np.where(c.parts > 1, 2 * queries * c.parts / (c.l2 * f["l2"]), 0)
    busy += 2 * cache * byte + f["write"] * c.batch * c.length / c.sms / c.clock
    if kind == "context":
        busy += queries * byte + f["prepare"] * c.batch * c.length * (c.heads + c.kv) * c.d / 128 / c.sms / c.clock
    return busy + f["floor"] * 1e-6, 2


def flash_2_parts(c):
    """FlashAttention-2's num_splits_heuristic: the fewest parts that fill the GPU nearly as well as the best number."""
    parts = np.ones(len(c.d))
    for i, (blocks, slots, steps) in enumerate(zip(c.blocks, 2 * c.sms, c.steps)):
        if c.shared[i] <= 1 or blocks >= CONSTANT["serving_few_blocks"] * slots or steps <= 1:
            continue
        full = [0.0]
        for k in range(1, int(min(128, slots, steps)) + 1):
            waves = blocks * k / slots
            full.append(waves / np.ceil(waves) if k == 1 or np.ceil(steps / k) != np.ceil(steps / (k - 1)) else 0)
        parts[i] = next(k for k, x in enumerate(full) if k and x >= CONSTANT["serving_split_share"] * max(full))
    return parts


def decode_tiles(c, tiling):
    few, many = {"FLASHINFER": (16, 64), "TRTLLM_GEN": (8, 16), "TRITON": (16, 16)}.get(tiling, (0, 0))
    c.rows = np.where(c.shared <= few, few, many).astype(float) if few else np.where(c.d <= 64, TILING[tiling][0], TILING[tiling][1]).astype(float)
    c.keys = keys_of(tiling, c.d) if tiling in TILING else np.full(len(c.d), 128.0)
    c.tiles, c.steps = np.ceil(c.shared / c.rows), np.ceil(c.length / c.keys)
    c.blocks, c.tiling = c.batch * c.kv * c.tiles, tiling
    c.parts = flash_2_parts(c) if tiling == "FLASH_2" else None
    c.copied = (tiling == "FLASH_2") & (c.batch > 1) & (c.kv > 1) & (c.shared > 1)


def decode(c, f, kind):
    width = np.where(c.byte, 1, 2)
    cache = 2 * c.batch * c.kv * c.length * c.d * width
    missed = np.clip((cache / c.l2_bytes - f["from"]) / CONSTANT["serving_cache_ramp"], 0, 1)
    memory = cache * (missed / (c.dram * f["dram"]) + (1 - missed) * c.tiles / (c.l2 * f["l2"]))
    slow = np.where(c.byte, f["byte"], 1) * np.where(c.d > 128, f["wide"], 1)
    step = slow * (f["step"] / c.clock * c.d / 128 * c.keys / 128 + 4 * c.rows * c.keys * c.d / (c.rate * f["share"]))
    by_d = CONSTANT["serving_flash_3_block"] if c.tiling == "FLASH_3" else 0
    block = (f["block"] * (1 + by_d * (c.d / 128 - 1)) + f["row"] * c.d / 128 * np.minimum(c.shared, c.rows)) / c.clock
    best = np.full(len(c.d), np.inf)
    for parts in (c.parts,) if c.parts is not None else SPLITS if c.tiling != "TRITON" else [s for s in SPLITS if s <= 16]:
        each = c.blocks * parts / c.sms
        rounds = np.maximum(1, np.where(each < 8, np.ceil(each - CONSTANT["serving_slack"]), each))
        joining = f["joining"] * 1e-6 + f["each"] * parts / c.clock + 8 * c.batch * c.heads * c.d * parts / (c.l2 * f["l2"])
        t = np.cbrt((rounds * (np.ceil(c.steps / parts) * step + block))**3 + memory**3) + np.where(parts > 1, joining, 0)
        best = np.minimum(best, np.where((c.steps >= parts) | (parts == 1), t, np.inf))
    copies = np.where(c.copied, f["copies"] * 1e-6 + 8 * c.batch * c.heads * c.d / c.dram, 0)
    return best + copies + f["floor"] * 1e-6, 2 + 2 * c.copied


def seconds(c, f, kind, own=False):
    busy, launches = (decode if kind == "decode" else flash)(c, f, kind)
    return busy * (c.own[kind] if own else 1) + launches * c.launch


def is_odd(r):
    """8-bit caches that neither FlashInfer nor TensorRT-LLM's kernels have: vLLM's Triton kernel."""
    return r["byte"] and r["design"] != "HOPPER" and r["s"]["D"] == "192"


def fitted_by(w, r):
    kind, cache, design = w[:3]
    if kind == "DECODE":
        byte = {"AMPERE": False, "ADA": cache == "BYTE", "HOPPER": cache == "BYTE", "BLACKWELL": None}[design]
        return is_odd(r) if cache == "ODD" else r["workload"] == "ops/decode_attention" and r["design"] == design and not is_odd(r) and byte in (None, r["byte"])
    return r["design"] == design and r["workload"] == ("ops/attention" if kind == "CAUSAL" else "ops/context_attention") and (kind == "CONTEXT" or r["s"]["Sq"] != "1")


def prepared(w, rows):
    c = columns(rows)
    decode_tiles(c, w[3]) if w[0] == "DECODE" else walk(c, w[3])
    return c


def fit(w, c, starts):
    from scipy.optimize import least_squares, minimize
    kind, names = w[0].lower(), DECODE if w[0] == "DECODE" else FLASH
    free = [n for n in names if n not in w[4]]
    whole = lambda x: {**w[4], **{n: min(1, v) if n in SHARES else v for n, v in zip(free, np.exp(x))}}
    off = lambda x: np.mean(np.minimum(1, np.abs(seconds(c, whole(x), kind) / c.t - 1)))
    best = None
    for start in starts:
        x = least_squares(lambda x: np.log(seconds(c, whole(x), kind) / c.t), np.log([start[n] for n in free]), loss="soft_l1", f_scale=.05, max_nfev=300).x
        m = minimize(off, x, method="Nelder-Mead", options=dict(maxiter=150 * len(free), xatol=1e-3, fatol=1e-5))
        best = m if best is None or m.fun < best.fun else best
    return whole(best.x)


def error(p, t):
    e = 100 * np.abs(p / t - 1)
    return "%.1f (%.1f) %%" % (e.mean(), np.median(e))


def fit_and_report(w, rows):
    c, kind = prepared(w, rows), w[0].lower()
    starts = [DECODE_START, {**DECODE_START, "from": 1}] if w[0] == "DECODE" else [FLASH_START]
    p = np.zeros(len(rows))
    for k in range(5):
        p[c.fold == k] = seconds(c.part(c.fold == k), fit(w, c.part(c.fold != k), starts), kind)
    f = fit(w, c, starts)
    for gpu in sorted({r["hw"] for r in rows}):
        m = np.array([r["hw"] == gpu for r in rows])
        width = hardware(gpu).get("residual_serving_%s.value" % (kind if kind != "decode" or not c.byte[m].all() else "decode_byte"), np.nan)
        inside = 100 * np.mean(np.abs(np.log(c.t[m] / p[m])) <= width)
        print("%-8s %-4s %-16s %5d rows, not fitted %s, %.0f %% of them within the 80 %% interval, fitted %s"
              % (kind, w[1], gpu, m.sum(), error(p[m], c.t[m]), inside, error(seconds(c, f, kind)[m], c.t[m])), flush=True)
    return f


def text_of(w, f):
    names = DECODE if w[0] == "DECODE" else FLASH
    number = lambda n: ("%.3g" % (f[n] if f[n] > 1e-4 else 0)).replace("e+0", "e+") + ("e-6" if n in MICRO and f[n] > 1e-4 else "")
    head = "FSIM_SERVING_DECODE(%s, %s, %s" % (w[1], w[2], w[3]) if w[0] == "DECODE" else "FSIM_SERVING_FLASH(%s_ATTENTION, %s, %s" % (w[0], w[2], w[3])
    return head + ", " + ", ".join(map(number, names)) + ")\n"


def row_of(w, text):
    start = re.escape(text_of(w, {n: 0 for n in FLASH + DECODE}).split(", " + w[3])[0])
    m = re.search("^" + start + r", \w+, (.*)\)$", text, re.M)
    numbers = [float(x) for x in m[1].split(",")]
    names = DECODE if w[0] == "DECODE" else FLASH
    return {n: v * 1e6 if n in MICRO else v for n, v in zip(names, numbers)}


def put(w, f, text):
    start = re.escape(text_of(w, f).split(", " + w[3])[0])
    new, n = re.subn("^" + start + r",.*\n", lambda m: text_of(w, f), text, flags=re.M)
    return new if n else re.sub(r"(?=^FSIM_SERVING_MLA_CONTEXT\()", lambda m: text_of(w, f), text, count=1, flags=re.M)


def check(predictions, rows, text):
    """How far fusesim's predictions are from the equations here: the largest ratio."""
    said = {r["id"]: r["predicted_s"] for r in json.load(open(predictions))["rows"]}
    worst = (0, "")
    for w in WANTED:
        mine = [r for r in rows if fitted_by(w, r) and r["id"] in said]
        if mine:
            p = seconds(prepared(w, mine), row_of(w, text), w[0].lower(), own=True)
            worst = max(worst, *((abs(p[i] / said[r["id"]] - 1), r["id"]) for i, r in enumerate(mine)))
    print("%d rows, at most %.3f %% apart: %s" % (len(said), 100 * worst[0], worst[1]))
    return worst[0] < .005


def main(arguments):
    rows = rows_of("aiconfigurator_context_attention.csv") + rows_of("aiconfigurator_decode_attention.csv")
    text = open(FITS).read()
    if "--check" in arguments:
        return 0 if check(arguments[arguments.index("--check") + 1], rows, text) else 1
    kinds = [a for a in arguments if not a.startswith("--")] or ["causal", "context", "decode"]
    only = next((a[len("--only="):] for a in arguments if a.startswith("--only=")), None)
    for w in WANTED:
        if w[0].lower() in kinds and only in (None, "%s/%s" % (w[0], w[2])):
            f = fit_and_report(w, [r for r in rows if fitted_by(w, r)])
            text = put(w, f, text)
            print(text_of(w, f), end="", flush=True)
    if "--write" in arguments:
        open(FITS, "w").write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
