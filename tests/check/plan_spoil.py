# SPDX-License-Identifier: Apache-2.0
"""Shows that plan_check.py can refuse: changes a good plan in one place at a time, and asks for the rule that must notice.

    plan_spoil.py FUSESIM HARDWARE

HARDWARE is what `fusesim hw show rtx-4090 --json` writes. Exit status 1 and a line for each change that goes unnoticed.
"""
import copy
import json
import subprocess
import sys
import tempfile

from plan_check import check


def kernel(p, name):
    return next(k for k in p["plan"]["kernels"] if name in k["operators"])


def row(p):
    return next(s for s in p["strategies"] if s["name"] == p["plan"]["strategy"])


def drop_operator(p):
    kernel(p, "h")["operators"].remove("h")


def drop_kernel(p):
    p["plan"]["kernels"].remove(kernel(p, "y"))


def swap(p):
    kernels = p["plan"]["kernels"]
    kernels[0], kernels[1] = kernels[1], kernels[0]


def twice(p):
    kernel(p, "y")["operators"].append("h")


def recompute_product(p):
    kernel(p, "g/tanh")["operators"].insert(0, "h/matmul")
    kernel(p, "g/tanh")["recomputed"].append("h/matmul")


def unknown(p):
    kernel(p, "h")["operators"][0] = "nobody"


def input_bytes(p):
    kernel(p, "h/matmul")["inputs"][0]["bytes"] -= 32


def output_bytes(p):
    kernel(p, "h/matmul")["outputs"][0]["bytes"] += 32


def lost_input(p):
    del kernel(p, "h/matmul")["inputs"][1]


def kernel_sum(p):
    kernel(p, "h/matmul")["dram_read_bytes"] += 32


def kernel_flops(p):
    kernel(p, "h/matmul")["flops"] //= 2


def unstored(p):
    del kernel(p, "g")["outputs"][0]


def free_read(p):
    given = kernel(p, "h/matmul")["inputs"][0]
    kernel(p, "h/matmul")["dram_read_bytes"] -= given["read_bytes"]
    row(p)["dram_read_bytes"] -= given["read_bytes"]
    given["read_bytes"] = 0


def free_write(p):
    given = kernel(p, "y")["outputs"][0]
    kernel(p, "y")["dram_write_bytes"] -= given["write_bytes"]
    row(p)["dram_write_bytes"] -= given["write_bytes"]
    given["write_bytes"] = 0


def sum_time(p):
    row(p)["time_s"] *= 1 + 1e-9


def sum_bytes(p):
    row(p)["dram_write_bytes"] += 1


def sum_kernels(p):
    row(p)["kernels"] += 1


def eliminated(p):
    row(p)["intermediate_bytes_eliminated"] += 2


def peak(p):
    row(p)["peak_memory_bytes"] -= 1


def starts(p):
    p["plan"]["kernels"][1]["start_s"] = 0


def shares(p):
    kernel(p, "h/matmul")["time"]["dram_s"] += 1e-9


def speedup(p):
    row(p)["speedup"] += 1e-6


def bound(p):
    p["plan"]["lower_bound_s"] *= 1.01


def waves(p):
    kernel(p, "g/tanh")["waves"] *= 2


def registers(p):
    kernel(p, "g/tanh")["registers_per_thread"] = 300


def parameters(p):
    p["workload"]["parameters"] += 1


def template(p):
    kernel(p, "h/matmul")["template"] = "pointwise"


def around(p):
    """A and B in one kernel, though C reads A and B reads C."""
    first, last = kernel(p, "A"), kernel(p, "B")
    first["operators"] += last["operators"]
    first["inputs"] += [i for i in last["inputs"] if i["tensor"] != "A"]
    first["outputs"] += last["outputs"]
    p["plan"]["kernels"].remove(last)


def apart(p):
    """Two kernels that share no tensor as one."""
    first, last = kernel(p, "h/matmul"), kernel(p, "y/matmul")
    first["operators"] += last["operators"]


CASES = {
    "mlp --strategy greedy": [(free_write, "L2"), (free_read, "L2"), (bound, "bound"), (kernel_sum, "bytes")],
    "mlp --strategy unfused": [
        (drop_operator, "cover"), (drop_kernel, "cover"), (swap, "order"), (twice, "cover"), (recompute_product, "cover"),
        (unknown, "names"), (input_bytes, "bytes"), (output_bytes, "bytes"), (lost_input, "inputs"),
        (kernel_flops, "flops"), (unstored, "outputs"), (sum_time, "sum"), (sum_bytes, "sum"), (sum_kernels, "sum"),
        (eliminated, "sum"), (peak, "memory"), (starts, "timeline"), (shares, "time"), (speedup, "strategies"), (waves, "limits"),
        (registers, "limits"), (parameters, "count"), (template, "template"), (apart, "connected")],
    "seeds/cycle": [(around, "convex")],
}
GRAPHS = [("mlp --strategy unfused", "33554432  h/matmul", "33554431  h/matmul", "tensor"),
          ("mlp --strategy unfused", "b1 [4096x0, 4096x1]", "b1 [4096x0, 4096x2]", "map"),
          ("mlp --strategy unfused", "1 x (4096 x 4096 x 1024)", "1 x (4096 x 4096 x 1023)", "product")]


def plan(program, call):
    with tempfile.NamedTemporaryFile(dir=".", suffix=".json") as file:
        done = subprocess.run([program] + call.split() + ["--hw", "rtx-4090", "--json", file.name, "--dump", "graph"],
                              stdout=subprocess.PIPE, check=True, encoding="utf-8")
        with open(file.name, encoding="utf-8") as written:
            return done.stdout, json.load(written)["plans"][0]


def main(program, hardware):
    with open(hardware, encoding="utf-8") as file:
        hw = json.load(file)
    missed = tried = 0

    def ask(what, graph, p, rule):
        nonlocal missed, tried
        faults = check(graph, p, hw).faults
        tried += 1
        if not (any(f.startswith(rule + ":") for f in faults) if rule else not faults):
            missed += 1
            print("%s: wanted %s, found: %s" % (what, rule or "no fault", "; ".join(faults[:3]) or "nothing"))
    for call, changes in CASES.items():
        graph, good = plan(program, call)
        ask(call, graph, good, None)
        for change, rule in changes:
            bad = copy.deepcopy(good)
            change(bad)
            ask("%s, %s" % (call, change.__name__), graph, bad, rule)
    for call, old, new, rule in GRAPHS:
        graph, good = plan(program, call)
        assert old in graph
        ask("%s, '%s'" % (call, new), graph.replace(old, new, 1), good, rule)
    print("%d plans, changed in one place each or in none; %d judged wrongly" % (tried, missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
