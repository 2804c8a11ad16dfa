# SPDX-License-Identifier: Apache-2.0
# bench/autotune.py: what bench/autotune.sh writes, on stdout.
import csv, json, math, os, statistics, subprocess, sys, tempfile
from collections import defaultdict

from written import microseconds

PROGRAM, DATA, MATCH = os.environ["FUSESIM"], os.environ["DATA"], os.environ["MATCH"]
STEPS = 200000  # of each search


def measured(name):
    with open(f"{DATA}/measured/{name}.csv", newline="") as f:
        return [r for r in csv.DictReader(f) if r["hw"] in ("h100-sxm5-80gb", "l40s") and MATCH in r["id"]]


def predicted(strategies):
    """Rows of the file as if each strategy had been measured in a graph: by GPU, workload and strategy."""
    rows = [r for r in measured("kernelbench_v0_autotune") if r["launch"] == "graph"]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.csv"
        with open(path, "w", newline="") as f:
            out = csv.DictWriter(f, rows[0].keys())
            out.writeheader()
            for s in strategies:
                out.writerows({**r, "id": f"{s}/{r['id']}", "strategy": s} for r in rows)
        command = [PROGRAM, "validate", "--measurements", path, "--workload-root", f"{DATA}/workloads", "--search-steps", str(STEPS), "--no-exclude", "--json", "-"]
        done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return {(r["hw"], r["workload"], r["strategy"]): r for r in json.loads(done.stdout)["rows"]}


def hardware(name):
    keys = json.loads(subprocess.run([PROGRAM, "hw", "show", name, "--json", "-"], capture_output=True, text=True, check=True).stdout)["keys"]
    return keys["dram_bandwidth"]["value"], keys["l2_capacity"]["value"]


class Row:
    """tuned: the faster of max-autotune with and without a graph. PyTorch's graphs copy the inputs first; without one, short networks wait for the host."""

    def __init__(self, gpu, workload, tuned, eager, inductor, of):
        self.gpu, self.workload, self.tuned, self.eager, self.inductor = gpu, workload.removeprefix("kernelbench/v0/"), tuned, eager, inductor
        self.optimal, self.by_eager = of["optimal"], of["eager"]
        self.ratio = tuned / self.optimal["predicted_s"]

    def why(self, bandwidth, l2):
        o, said = self.optimal, []
        if o["compulsory_bytes"] / bandwidth > self.tuned and o["compulsory_bytes"] < l2:
            said.append(f"its {o['compulsory_bytes'] / 1e6:.0f} MB were in L2 ({l2 / 1e6:.0f} MB): from DRAM they take {microseconds(o['compulsory_bytes'] / bandwidth)} us at the data sheet's rate; predicted to be read there")
        if self.eager is not None and self.eager < 0.95 * self.by_eager["predicted_s"]:
            said.append(f"the price of the kernel is too high: eager, the library's, took {microseconds(self.eager)} us and is predicted {microseconds(self.by_eager['predicted_s'])}")
        if self.eager is not None and self.tuned < 0.95 * self.eager and self.ratio < 0.97:
            said.append(f"a tuned Triton kernel took {100 * (1 - self.tuned / self.eager):.0f} % less than the library's; the optimum has prices of libraries and of our own kernels, not of Triton's choice of tiles")
        if not said and self.tuned >= o["time_low_s"]:
            said.append("within the prediction's interval: no difference is claimed")
        elif self.tuned >= o["time_low_s"]:
            said.append("within the interval")
        return "; ".join(said) or "not explained"


def bytes_of(workload):
    """Bytes of inputs, bytes of weights, number of weights."""
    shown = subprocess.run([PROGRAM, "workloads", f"{DATA}/workloads/{workload}.yaml", "--json", "-"], capture_output=True, text=True, check=True)
    sizes = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4}
    tensors = [(math.prod(t["shape"]) * sizes.get(t["dtype"], 1), t["weight"]) for t in json.loads(shown.stdout)[0]["inputs"]]
    return sum(b for b, w in tensors if not w), sum(b for b, w in tensors if w), sum(w for _, w in tensors)


def copies(plain, gpus):
    """What the measured graphs hold beside the network's kernels."""
    print("\n## What the rows in CUDA graphs hold beside the network\n")
    print("Rows with graphs (`kernelbench_v0_graphs.csv`, and max-autotune) take longer than the same kernels without: PyTorch copies each call's inputs to the graph's own memory, and its backend `cudagraphs` (*eager*")
    print("in a graph) copies the weights, too, a kernel each. Rows above 0.4 ms whose copies move more than 0.1 ms at 0.85 of the data sheet's bandwidth; microseconds. So a part of what these rows take")
    print("beyond predictions is not the network: AlexNet's 198 us (H100) and 750 us (L40S) are its 250 MB of weights, read and written once.\n")
    print("| GPU | workload | eager | in a graph longer by | inductor in a graph longer by | inputs' copies | weights' copies | weights |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for (gpu, workload, strategy), by in sorted(plain.items()):
        inductor = plain.get((gpu, workload, "inductor"), {})
        if strategy != "eager" or len(by) < 2 or len(inductor) < 2 or by["eager"] < 4e-4:
            continue
        inputs, weights, count = bytes_of(workload)
        rate = 0.85 * gpus[gpu][0] / 2
        if (inputs + weights) / rate > 1e-4:
            difference = lambda t: f"{(t['graph'] - t['eager']) * 1e6:.0f}"
            print(f"| {gpu} | {workload.removeprefix('kernelbench/v0/')} | {microseconds(by['eager'])} | {difference(by)} | {difference(inductor)} | {microseconds(inputs / rate)} | {microseconds(weights / rate)} | {count} |")


def main():
    times = defaultdict(dict)
    for r in measured("kernelbench_v0_autotune"):
        times[r["hw"], r["workload"]][r["launch"]] = float(r["time_s"])
    plain = defaultdict(dict)
    for name in ("kernelbench_v0", "kernelbench_v0_graphs"):
        for r in measured(name):
            if r["source"].split()[1] in ("H100_together", "L40S_matx3"):  # the machines of the tuned rows
                plain[r["hw"], r["workload"], r["strategy"]][r["launch"]] = float(r["time_s"])
    of = predicted(("optimal", "eager"))
    gpus = {g: hardware(g) for g in sorted({k[0] for k in times})}
    rows = []
    for (gpu, workload), t in sorted(times.items()):
        least = lambda strategy: min(plain[gpu, workload, strategy].values(), default=None)
        if (gpu, workload, "optimal") in of:
            rows.append(Row(gpu, workload, min(t.values()), least("eager"), least("inductor"), {s: of[gpu, workload, s] for s in ("optimal", "eager")}))
    print("# The predicted optimum beside a tuned compiler\n")
    print("Made by `bench/autotune.sh`. *tuned* is torch.compile with max-autotune as KernelBench measured it (`kernelbench_v0_autotune.csv`, FP32): the faster of the runs with and without CUDA graphs, since")
    print("with them PyTorch copies the inputs first and without them short networks wait for the host. *optimal* is the predicted GPU time of the best legal plan, in a graph, L2 warm as in those rows. A search")
    print(f"has {STEPS:,} steps. Ratios above 1 are what a compiler leaves; below 1 the prediction is beaten, and is wrong or too close to call. Host time is part of *tuned*: short rows say little.\n")
    print("| GPU, level | rows | tuned / optimal, median | rows above 0.3 ms | median of those | tuned is faster | beyond the interval |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for gpu in gpus:
        for level in ("l1", "l2", "l3"):
            some = [r for r in rows if r.gpu == gpu and r.workload.startswith(level)]
            long = [r.ratio for r in some if r.tuned > 3e-4]
            if some:
                print(f"| {gpu}, {level} | {len(some)} | {statistics.median(r.ratio for r in some):.2f} | {len(long)} | {statistics.median(long) if long else float('nan'):.2f} | {sum(r.ratio < 1 for r in some)} | {sum(r.tuned < r.optimal['time_low_s'] for r in some)} |")
    beaten = sorted((r for r in rows if r.ratio < 1), key=lambda r: r.ratio)
    print(f"\n## Where the tuned compiler is faster than the predicted optimum: {len(beaten)} of {len(rows)} rows\n")
    print("| GPU | workload | tuned, us | optimal, us (8 of 10 within) | ratio | eager, us | why |")
    print("|---|---|--:|--:|--:|--:|---|")
    for r in beaten:
        o = r.optimal
        print(f"| {r.gpu} | {r.workload} | {microseconds(r.tuned)} | {microseconds(o['predicted_s'])} ({microseconds(o['time_low_s'])} to {microseconds(o['time_high_s'])}) | {r.ratio:.2f} | {microseconds(r.eager)} | {r.why(*gpus[r.gpu])} |")
    copies(plain, gpus)
    print("\n## All rows\n")
    print("Microseconds; eager and inductor: the faster of measured runs with and without a graph.\n")
    print("| GPU | workload | eager | inductor | tuned | optimal, predicted | kernels | bound by | tuned / optimal |")
    print("|---|---|--:|--:|--:|--:|--:|---|--:|")
    for r in rows:
        o = r.optimal
        print(f"| {r.gpu} | {r.workload} | {microseconds(r.eager)} | {microseconds(r.inductor)} | {microseconds(r.tuned)} | {microseconds(o['predicted_s'])} | {o['kernels']} | {o['bound']} | {r.ratio:.2f} |")


main()
