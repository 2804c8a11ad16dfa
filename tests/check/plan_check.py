# SPDX-License-Identifier: Apache-2.0
"""Checks a plan of fusesim without fusesim's code.

    plan_check.py GRAPH PLAN HARDWARE
    plan_check.py --run FUSESIM CALLS

The second form makes these files itself: CALLS has the arguments of a call of FUSESIM in each line, with one GPU. GRAPH is what `fusesim WORKLOAD --hw HW --dump graph` prints: tensors with shapes and dtypes, primitives with what they read.
PLAN is what `--json` writes in the same call, HARDWARE what `fusesim hw show HW --json` writes. Each rule below is a definition of
docs/MODEL.md, written a second time: who does not trust the program can read this file instead. Exit status 1 and a line for each
rule that does not hold; 0 where all hold. Only Python's standard library is used, and nothing of the program.

Not checked: seconds of a unit from bytes and instructions, which rivals' partitions are theirs, whether every legal plan was looked at
(tests/unit compares with enumerations), plans of --train (their graph's barrier and in-place updates are not in GRAPH).
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1,
         "f8e8m0": 1, "f4e2m1": 0.5, "i4": 0.5, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1, "bool": 1}
ALONE = {"communication", "transfer", "opaque"}  # classes whose operators are kernels of their own
CHEAP = {"elementwise", "random", "permute"}  # classes that a second kernel may compute again
REDUCING = {"row_reduction", "column_reduction", "full_reduction", "mixed_reduction"}
OWN = {"optimal", "greedy", "maximal", "file"}  # strategies whose kernels are fusesim's; frameworks' find less in L2


# The graph.

class Tensor:
    def __init__(self, row):
        self.name, self.dtype = row["tensor"], row["dtype"]
        self.shape = [int(d) for d in re.findall(r"\d+", row["shape"])]
        self.role, self.bytes, self.maker = row["role"], int(row["bytes"]), row["made by"]
        self.readers, self.stored = int(row["readers"]), row["stored"]
        self.elems = product(self.shape)
        self.view = self.maker[len("view of "):] if self.maker.startswith("view of ") else None
        self.output, self.materialize = "output" in self.stored, "materialize" in self.stored
        self.over = re.sub(r".*in place of ", "", self.stored) if "in place of " in self.stored else None
        self.made = self.role == "made" and not self.view
        self.owner = self


class Read:
    """One argument of a primitive: the tensor, and where the elements are that it reads."""

    def __init__(self, tensor, text):
        self.tensor, self.how, self.modes, self.reduced, self.offset = tensor, text.split(" ")[0], None, None, 0
        found = re.fullmatch(r"\[([^]]*)\](?: \+ (\d+))?", text)
        if found:
            self.how, self.offset = "map", int(found.group(2) or 0)
            points, bar, reduced = found.group(1).partition("|")
            self.modes, self.reduced = digits(points), digits(reduced)


class Primitive:
    def __init__(self, row):
        self.name, self.op, self.cls, self.of = row["primitive"], row["op"], row["class"], row["of"]
        self.points, self.reduced = int(row["points"]), int(row["reduced"])
        self.gemm = re.match(r"(\d+) x \((\d+) x (\d+) x (\d+)\)", row.get("contraction", ""))
        self.reads_text, self.reads, self.makes = row.get("reads", ""), [], []


def product(numbers):
    n = 1
    for x in numbers:
        n *= x
    return n


def digits(text):
    return [(int(e), int(s)) for e, s in re.findall(r"(\d+)x(-?\d+)", text)]


def table(lines, title):
    """The rows of a table as dicts. Cells stand below their title's first or last letter; empty ones are ''."""
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    heads = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", lines[start + 1])]
    first, last = {a: name for name, a, _ in heads}, {b: name for name, _, b in heads}
    for line in lines[start + 2:]:
        if not line.strip():
            return
        row = {name: "" for name, _, _ in heads}
        cells = re.finditer(r"\S+(?: \S+)*", line)
        for cell in cells:
            name = first.get(cell.start()) or last[cell.end()]
            row[name] = cell.group()
        yield row


def split_reads(text, tensors):
    """'x [4096x1], b once' -> [(tensor, rest)]; a comma inside brackets does not separate."""
    for part in re.split(r", (?=[^\]]*(?:\[|$))", text) if text else []:
        name = part
        while name not in tensors or name == part:  # the longest name in front: names may have blanks
            name, blank, _ = name.rpartition(" ")
            if not blank:
                raise ValueError("graph: no tensor of '%s'" % part)
        yield tensors[name], part[len(name) + 1:]


class Graph:
    def __init__(self, text):
        lines = text.splitlines()
        self.tensor = {t.name: t for t in map(Tensor, table(lines, "tensors"))}
        self.node = {n.name: n for n in map(Primitive, table(lines, "primitives"))}
        for n in self.node.values():
            n.reads = [Read(t, rest) for t, rest in split_reads(n.reads_text, self.tensor)]
        for t in self.tensor.values():
            while t.owner.view:
                t.owner = self.tensor[t.owner.view]
            if t.made:
                self.node[t.maker].makes.append(t)
        self.order = {name: i for i, name in enumerate(self.node)}


# The report: what does not hold.

class Report:
    def __init__(self):
        self.faults, self.checks = [], 0

    def need(self, holds, rule, *words):
        self.checks += 1
        if not holds:
            self.faults.append("%s: %s" % (rule, " ".join(str(w) for w in words)))
        return holds


def about(x, y, share):
    return abs(x - y) <= share * max(abs(x), abs(y), 1e-18)


def ticks(seconds):
    """Times are whole femtoseconds."""
    return round(Fraction(seconds) * 10 ** 15)


# Rules of the graph.

def last_element(read):
    up = [(e - 1) * s for e, s in read.modes + read.reduced]
    return read.offset + sum(u for u in up if u > 0), read.offset + sum(u for u in up if u < 0)


def check_graph(g, workload, say):
    for t in g.tensor.values():
        say.need(t.bytes == t.elems * BYTES[t.dtype], "tensor", t.name, "has", t.bytes, "bytes")
    for n in g.node.values():
        say.need(n.makes, "graph", n.name, "makes nothing")
        for read in n.reads:
            t = read.tensor
            say.need(not t.made or g.order[t.maker] < g.order[n.name], "graph", n.name, "reads", t.name, "before it is made")
            if read.how != "map":
                continue
            points, reduced = product(e for e, _ in read.modes), product(e for e, _ in read.reduced)
            say.need(points == n.points, "map", n.name, "reads", t.name, "at", points, "points of", n.points)
            say.need(reduced == n.reduced, "map", n.name, "reads", t.name, "over", reduced, "of", n.reduced)
            most, least = last_element(read)
            say.need(0 <= least and most < t.elems, "map", n.name, "reads", t.name, "from", least, "to", most)
        if n.gemm:
            batch, m, w, k = map(int, n.gemm.groups())
            say.need(batch * m * w * k == n.points * n.reduced, "product", n.name, n.gemm.group())
    say.need(workload["primitives"] == len(g.node), "count", "primitives", workload["primitives"])
    say.need(workload["operators"] == len({n.of for n in g.node.values()} |
                                          {t.name for t in g.tensor.values() if t.view}) or
             workload["operators"] >= len({n.of for n in g.node.values()}), "count", "operators", workload["operators"])
    weights = sum(t.elems for t in g.tensor.values() if t.role == "weight" and not t.view)
    say.need(workload["parameters"] == weights, "count", "parameters", workload["parameters"], "not", weights)
    flops = sum(2 * n.points * n.reduced for n in g.node.values() if n.cls == "contraction")
    say.need(workload["contraction_flops"] == flops, "count", "contraction_flops", workload["contraction_flops"], "not", flops)


# Rules of a partition.

class Kernel:
    def __init__(self, g, row):
        self.row, self.id = row, "kernel %d" % row["id"]
        self.nodes = [g.node[name] for name in row["operators"]]
        self.names = set(row["operators"])
        self.again = set(row["recomputed"])
        self.folded = set(row.get("folded", []))  # into the product's weights, before the kernel runs
        self.makes = {t for n in self.nodes for t in n.makes}
        self.wants = {}  # tensor that is read from memory: the reads
        for n in self.nodes:
            for read in n.reads:
                if read.tensor not in self.makes and n.name not in self.folded:
                    self.wants.setdefault(read.tensor, []).append((n, read))
        self.maybe = {r.tensor for n in self.nodes if n.name in self.folded for r in n.reads} - self.makes - set(self.wants)
        self.inputs = {i["tensor"]: i for i in row["inputs"]}
        self.outputs = {o["tensor"]: o for o in row["outputs"]}


def check_cover(g, kernels, say):
    """Each primitive has one home; what is recomputed has its home in an earlier kernel and is cheap."""
    home = {}
    for i, k in enumerate(kernels):
        for name in sorted(k.names - k.again):
            say.need(name not in home, "cover", name, "is computed by", k.id, "and by another")
            home.setdefault(name, i)
        for name in sorted(k.again):
            say.need(name in k.names, "cover", k.id, "recomputes", name, "which it does not compute")
            say.need(name in home and home[name] < i, "cover", k.id, "recomputes", name, "before it is computed")
            say.need(g.node[name].cls in CHEAP, "cover", k.id, "recomputes", name, "of class", g.node[name].cls)
        say.need(k.names - k.again, "cover", k.id, "computes nothing of its own")
    for name in g.node:
        say.need(name in home, "cover", "no kernel computes", name)
    return home


def needed_in_memory(g, kernels):
    """Tensors that some kernel reads and does not make, and those that the workload asks for."""
    wanted = {t for k in kernels for t in k.wants}
    return {t for t in g.tensor.values() if t.made and (t in wanted or t.output or t.materialize)}


def check_order(g, kernels, home, say):
    """Every input exists when its kernel is launched. So the kernels' graph has no cycle, and each group is convex."""
    for i, k in enumerate(kernels):
        for t in k.wants:
            if not t.made or t.maker not in home:
                continue
            j = home[t.maker]
            if not say.need(j < i, "order", k.id, "reads", t.name, "which", kernels[j].id, "makes later"):
                back = [u.name for u in kernels[j].wants if u.made and home.get(u.maker) == i]
                say.need(not back, "convex", k.id, "and", kernels[j].id, "need each other, for", t.name, "and", ", ".join(back))


def connected(k):
    """Are the kernel's primitives connected by tensors that they make and read?"""
    group = {n.name: n.name for n in k.nodes}

    def top(x):
        while group[x] != x:
            x = group[x]
        return x
    first = {}
    for n in k.nodes:
        for t in [r.tensor for r in n.reads] + n.makes:
            group[top(n.name)] = top(first.setdefault(t, n.name))
    return len({top(x) for x in group}) == 1


def check_template(k, say):
    template, row = k.row["template"], k.row
    cls = [n.cls for n in k.nodes]
    if template not in ("serving", "library"):
        for n in k.nodes:
            say.need(n.cls not in ALONE or len(k.nodes) == 1, "template", k.id, n.name, "of class", n.cls, "is not alone")
    products = cls.count("contraction")
    if template in ("pointwise", "copy", "pooling", "scan") or template in REDUCING:
        say.need(products == 0, "template", k.id, template, "has", products, "products")
    if template == "chained_contraction":
        say.need(products >= 2, "template", k.id, "a chain of", products, "products")
    if template == "contraction":
        say.need(products >= 1, "template", k.id, "a contraction without a product")
    if template in ("pointwise", "copy"):
        bad = set(cls) & {"reduce", "window", "scan", "scatter"}
        say.need(not bad, "template", k.id, template, "has a", ", ".join(sorted(bad)))
    if template in REDUCING:
        say.need("reduce" in cls, "template", k.id, template, "reduces nothing")
    say.need(row["launches"] >= 1, "launches", k.id)


def only_moves(g, t):
    """A weight, or one in another order."""
    while t.made and g.node[t.maker].cls == "permute" and len(g.node[t.maker].reads) == 1:
        t = g.node[t.maker].reads[0].tensor
    return t.role == "weight"


def of_weights(g, t):
    """Is the value known before the run?"""
    return t.role == "weight" or t.made and all(of_weights(g, r.tensor) for r in g.node[t.maker].reads)


def check_folded(g, k, say):
    """Folded is what multiplies or shifts a product's columns by what follows from weights. The product's own weights take the
    factor, so they are floats of 16 bits or more, as they lie in memory."""
    if not k.folded:
        return
    product = next((n for n in k.nodes if n.cls == "contraction"), None)
    if not say.need(product is not None, "folded", k.id, "folds", sorted(k.folded), "into no product"):
        return
    weights = product.reads[1].tensor
    say.need(only_moves(g, weights) and weights.dtype in ("f64", "f32", "f16", "bf16"), "folded", k.id, "folds",
             sorted(k.folded), "into", weights.name, "of", weights.dtype, "which is no weight that could take it")
    for name in sorted(k.folded):
        n = g.node[name]
        chain = [r.tensor for r in n.reads if r.tensor.made and
                 (r.tensor.maker == product.name or r.tensor.maker in k.folded and not of_weights(g, r.tensor))]
        rest = [r.tensor for r in n.reads if r.tensor not in chain]
        say.need(all(of_weights(g, t) for t in rest), "folded", k.id, "folds", name, "which reads more than weights")


def check_purpose(g, kernels, memory, say):
    """Whatever a kernel computes is read inside it or stored by it; it is connected."""
    for k in kernels:
        read = {r.tensor for n in k.nodes for r in n.reads}
        for n in k.nodes:
            used = any(t in read or (t in memory and n.name not in k.again) for t in n.makes)
            say.need(used or not any(t.readers for t in n.makes), "purpose", k.id, "computes", n.name, "for nobody")
        if not any(n.op == "update" for n in k.nodes):
            say.need(connected(k), "connected", k.id, "has parts that share no tensor")
        check_template(k, say)
        check_folded(g, k, say)


# Bytes.

def whole_read(n, read):
    """Does the primitive, computed at all of its points, read every element? None: the map does not say."""
    if read.how != "map":
        return True if read.how == "once" else None
    span = 1
    for extent, stride in sorted((m for m in read.modes + read.reduced if m[1] != 0), key=lambda m: abs(m[1])):
        if abs(stride) > span:
            return False  # a gap: elements that no digit reaches
        span += (extent - 1) * abs(stride)
    return span >= read.tensor.elems


def distinct_read(read):
    """Elements that a map reaches, or a lower bound of them."""
    span, count, most = 1, 1, 1
    for extent, stride in sorted((m for m in read.modes + read.reduced if m[1] != 0), key=lambda m: abs(m[1])):
        count = count * extent if abs(stride) >= span else max(count, extent)
        span += (extent - 1) * abs(stride)
        most = max(most, count)
    return min(most, read.tensor.elems)


def full_nodes(k, memory):
    """Primitives that are surely computed at all points: what is stored, and what such read whole."""
    full = set()
    for n in reversed(k.nodes):
        stored = any(t in memory and n.name not in k.again for t in n.makes)
        read = any(r.tensor in n.makes and whole_read(m, r) for m in k.nodes if m.name in full for r in m.reads)
        if stored or read:
            full.add(n.name)
    return full


def input_bytes(k, t, full):
    """Least and most bytes of the tensor that the kernel must fetch."""
    least = 0
    for n, read in k.wants.get(t, ()):
        if n.name not in full:
            continue
        if any(u.over == t.name for u in n.makes):
            continue  # rows are written over it
        if whole_read(n, read):
            return t.bytes, t.bytes
        if read.how == "map":
            least = max(least, distinct_read(read) * BYTES[t.dtype])
    return least, t.bytes


def check_bytes(g, kernels, memory, own, say):
    for k in kernels:
        k.full = full_nodes(k, memory)
        want, maybe = {t.name for t in k.wants}, {t.name for t in k.maybe}  # a folded shift is still read, a factor is not
        say.need(want <= set(k.inputs) <= want | maybe, "inputs", k.id, "reads", sorted(set(k.inputs) ^ want), "or not")
        stores = {t.name for n in k.nodes if n.name not in k.again for t in n.makes if t in memory}
        say.need(stores <= set(k.outputs), "outputs", k.id, "does not store", sorted(stores - set(k.outputs)))
        for name in sorted(set(k.outputs) - stores):
            t = g.tensor[name]
            alone = t in k.makes and len(g.node[t.maker].makes) > 1 or g.node[t.maker].name in k.names and not t.readers
            say.need(alone, "outputs", k.id, "stores", name, "which nobody reads")
        for name, given in k.inputs.items():
            t = g.tensor[name]
            if t not in k.wants:
                continue
            least, most = input_bytes(k, t, k.full)
            say.need(least <= given["bytes"] <= most, "bytes", k.id, "reads", given["bytes"], "bytes of", name,
                     "not", least if least == most else "%d to %d" % (least, most))
        for name, given in k.outputs.items():
            t = g.tensor[name]
            rows = g.node[t.maker].reads[-1].tensor if t.over and g.node[t.maker].cls == "scatter" else t
            say.need(given["bytes"] == rows.bytes, "bytes", k.id, "makes", given["bytes"], "bytes of", name, "not", rows.bytes)
        check_kernel_sums(k, own, say)


def check_kernel_sums(k, own, say):
    """DRAM bytes of a kernel are those of its tensors; spilled registers, partial sums, the passes of a sort and what
    PyTorch writes besides results are more."""
    row = k.row
    read = sum(i["read_bytes"] for i in row["inputs"])
    write = sum(o["write_bytes"] for o in row["outputs"])
    more = row["spilled_bytes"] > 0 or row.get("partial_bytes", 0) > 0 or row["template"] == "opaque" or not own
    say.need(row["dram_read_bytes"] == read or more and row["dram_read_bytes"] > read, "bytes", k.id, "dram_read_bytes",
             row["dram_read_bytes"], "not", read)
    say.need(row["dram_write_bytes"] == write or more and row["dram_write_bytes"] > write, "bytes", k.id, "dram_write_bytes",
             row["dram_write_bytes"], "not", write)
    products = [n for n in k.nodes if n.cls == "contraction" and n.gemm]
    flops = sum(2 * n.points * n.reduced for n in products)
    masked = row["template"] == "chained_contraction" or row["template"] == "library" and len(products) > 1  # tiles may be skipped
    say.need(row["flops"] >= flops or row["template"] == "serving" or masked, "flops", k.id, row["flops"],
             "below its products'", flops)


# L2: a tensor stays until more than the capacity has entered since its last use; inputs that are there do not enter again. A kernel
# goes through all that it uses side by side: it finds nothing where that is more than the capacity, and counts as a whole behind each
# of its tensors.

class Cache:
    def __init__(self, capacity):
        self.capacity, self.entered, self.last = capacity, 0, {}
        self.unsure = set()  # used by a kernel of which the maps do not tell whether it reads all of it

    def has(self, t):
        return t in self.last and self.entered - self.last[t] <= self.capacity

    def run(self, g, k):
        inputs = [g.tensor[name] for name in g.tensor if name in k.inputs]
        flight = sum(o["bytes"] for o in k.outputs.values()) + sum(
            t.bytes if self.whole(k, t) else k.inputs[t.name]["bytes"] for t in inputs)
        there = {t.name: flight <= self.capacity and self.has(t) for t in inputs}
        self.entered += sum(o["bytes"] for o in k.outputs.values())
        self.entered += sum(i["bytes"] for name, i in k.inputs.items() if not there[name])
        for name in k.outputs:
            if not g.tensor[name].over:  # rows of it were written, not all
                self.last[g.tensor[name]] = max(self.last.get(g.tensor[name], -1e300), self.entered - flight)
        for t in inputs:
            self.unsure.discard(t)
            if k.inputs[t.name]["bytes"] < t.bytes:
                continue  # a part of it was read; the next reader may need another
            if not self.whole(k, t):
                self.unsure.add(t)
                continue
            self.last[t] = max(self.last.get(t, -1e300), self.entered - flight)
        return there

    @staticmethod
    def whole(k, t):
        return k.inputs[t.name]["bytes"] >= t.bytes and input_bytes(k, t, k.full)[0] >= t.bytes


def check_hits(g, kernels, capacity, warm, say):
    """What each kernel finds in L2. Returns the tensors that some reader does not find."""
    cache, missed = Cache(capacity), set()
    for turn in range(2 if warm else 1):
        for k in kernels:
            for name in sorted(k.again):
                missed.update(t for t in g.node[name].makes if not cache.has(t))
            unsure = set(cache.unsure)
            for name, there in cache.run(g, k).items():
                t, given = g.tensor[name], k.inputs[name]
                if turn < warm:
                    continue
                if t in unsure:
                    there = given["read_bytes"] == 0 and given["bytes"] > 0
                if not there:
                    missed.add(t)
                    say.need(given["read_bytes"] >= given["bytes"], "L2", k.id, "reads", given["read_bytes"], "bytes of", name,
                             "from DRAM, not the", given["bytes"], "that L2 lacks")
                else:
                    say.need(given["read_bytes"] == 0, "L2", k.id, "reads", given["read_bytes"], "bytes of", name,
                             "from DRAM, though L2 has it")
    return missed


def check_writes(g, kernels, missed, say):
    """A result that all its readers find in L2 never leaves it; all others reach DRAM."""
    for k in kernels:
        for name, given in k.outputs.items():
            t = g.tensor[name]
            stays = not t.output and not t.materialize and t.readers > 0 and t not in missed and not t.over
            say.need(given["write_bytes"] == 0 if stays else given["write_bytes"] >= given["bytes"], "L2", k.id, "writes",
                     given["write_bytes"], "bytes of", name, "which L2 keeps" if stays else "which leaves L2")


def check_l2(g, kernels, capacity, warm, say):
    """Nothing is read from DRAM that was never written there. Where no call of a library stands for several kernels (it is priced
    as they were), what is found in L2 is followed kernel by kernel."""
    written = {}
    for k in kernels:
        for name, given in k.inputs.items():
            say.need(given["read_bytes"] == 0 or written.get(name, 1) > 0, "L2", k.id, "reads", name, "from DRAM, where it never was")
        written.update((name, o["write_bytes"]) for name, o in k.outputs.items())
    if all(k.row["template"] != "serving" for k in kernels):
        check_writes(g, kernels, check_hits(g, kernels, capacity, warm, say), say)


# Memory: inputs and weights are there from the first kernel to the last, and outputs; an intermediate from the kernel that makes it to
# the last that reads it.

def check_memory(g, kernels, plan, row, capacity, say):
    lasting = {t.owner for t in g.tensor.values() if not t.owner.made and (t.owner.readers or t.output)}
    lasting |= {t for t in g.tensor.values() if t.made and t.output}
    for t in g.tensor.values():
        t.root = t
        while t.root.over:
            t.root = g.tensor[t.root.over]
    lasting = {t for t in lasting if not t.over}
    always = sum(t.bytes for t in lasting)
    last = {g.tensor[name]: i for i, k in enumerate(kernels) for name in k.inputs}
    over = {t.over for t in g.tensor.values() if t.over}
    live = most = 0
    for i, k in enumerate(kernels):
        made = [g.tensor[o] for o in k.outputs]
        live += sum(t.bytes for t in made if not t.output and not t.over)
        most = max(most, live)
        freed = [t for t, at in last.items() if at == i and t.made and not t.output and t.name not in over]
        live -= sum(t.bytes for t in freed if t.root not in lasting)
    say.need(row["peak_memory_bytes"] == always + most, "memory", "peak", row["peak_memory_bytes"], "not", always + most)
    memory = plan["memory"]
    weights = sum(t.bytes for t in lasting if t.role == "weight")
    say.need(memory["weight_bytes"] == weights, "memory", "weights", memory["weight_bytes"], "not", weights)
    say.need(memory["activation_bytes"] == always + most - weights, "memory", "activations", memory["activation_bytes"])
    needs = sum(memory[x] for x in ("weight_bytes", "activation_bytes", "workspace_bytes"))
    if capacity:
        say.need(row["fits"] == (needs <= capacity), "memory", "fits:", row["fits"], "with", needs, "of", capacity)


# Sums and time.

def check_kernel_time(k, say):
    row, unit = k.row, k.row["unit_time"]
    busy = [v for name, v in unit.items() if name != "launch_s"]
    least, most = unit["launch_s"] + max(busy), unit["launch_s"] + sum(busy)
    say.need(about(sum(row["time"].values()), row["time_s"], 1e-9), "time", k.id, "its shares sum to", sum(row["time"].values()))
    if row["template"] not in ("library", "serving", "communication", "transfer"):
        say.need(least * (1 - 1e-9) <= row["time_s"], "time", k.id, "takes", row["time_s"], "less than a unit,", least)
        say.need(row["time_s"] <= most * (1 + 1e-9), "time", k.id, "takes", row["time_s"], "more than all units,", most)
    say.need(row["time_low_s"] <= row["time_s"] <= row["time_high_s"], "time", k.id, "lies outside of its interval")
    say.need(abs(ticks(row["end_s"]) - ticks(row["start_s"]) - ticks(row["time_s"])) <= 1, "time", k.id, "ends at", row["end_s"])


def check_timeline(g, kernels, plan, say):
    """A kernel starts when its stream is free and its inputs are there."""
    ready, free = {}, {}
    for k in kernels:
        start = max([free.get(k.row["stream"], 0)] + [ready.get(name, 0) for name in k.inputs])
        say.need(abs(ticks(k.row["start_s"]) - start) <= 1, "timeline", k.id, "starts at", k.row["start_s"], "not", start / 1e15)
        free[k.row["stream"]] = start + ticks(k.row["time_s"])
        ready.update((name, free[k.row["stream"]]) for name in k.outputs)
        check_kernel_time(k, say)
    end = max(free.values(), default=0)
    say.need(abs(ticks(plan["makespan_s"]) - end) <= 1, "timeline", "ends at", plan["makespan_s"], "not", end / 1e15)


def check_sums(g, kernels, plan, row, say):
    time = sum(ticks(k.row["time_s"]) for k in kernels)
    say.need(abs(ticks(row["time_s"]) - time) <= max(1, time * 1e-15), "sum", "time_s", row["time_s"], "not", time / 1e15)
    say.need(row["kernels"] == len(kernels), "sum", "kernels", row["kernels"], "not", len(kernels))
    for name in ("dram_read_bytes", "dram_write_bytes"):
        all_bytes = sum(k.row[name] for k in kernels)
        say.need(row[name] == all_bytes, "sum", name, row[name], "not", all_bytes)
    for name in ("l2_bytes", "flops"):
        parts = sum(k.row[name] for k in kernels)
        say.need(abs(row[name] - parts) <= len(kernels), "sum", name, row[name], "not", parts)
    stored = {o for k in kernels for o in k.outputs}
    gone = sum(2 * t.bytes for n in g.node.values() for i, t in enumerate(n.makes)
               if t.name not in stored and (t.readers or i == 0))
    say.need(row["intermediate_bytes_eliminated"] == gone, "sum", "intermediate_bytes_eliminated",
             row["intermediate_bytes_eliminated"], "not", gone)


def value_of(p, s):
    """What the objective makes of a plan."""
    if p["objective"] == "bytes":
        return s["dram_read_bytes"] + s["dram_write_bytes"]
    return s["peak_memory_bytes"] if p["objective"] == "memory" else s["time_s"]


def check_strategies(p, say):
    rows = {s["name"]: s for s in p["strategies"]}
    eager, best = rows["eager"], rows["optimal"]
    for s in rows.values():
        say.need(about(s["speedup"], eager["time_s"] / s["time_s"], 1e-12), "strategies", s["name"], "speedup", s["speedup"])
        over = value_of(p, s) / value_of(p, best)
        say.need(about(1 + s["over_optimum"], over, 1e-12), "strategies", s["name"], "over_optimum", s["over_optimum"])
        say.need(s["time_low_s"] <= s["time_s"] <= s["time_high_s"], "strategies", s["name"], "lies outside of its interval")
        say.need(s["speedup_low"] <= s["speedup"] <= s["speedup_high"], "strategies", s["name"], "speedup outside of its interval")
        say.need(s["over_optimum_low"] <= s["over_optimum"] <= s["over_optimum_high"], "strategies", s["name"], "over_optimum")
    return rows


def check_bound(p, rows, say):
    plan, best = p["plan"], rows["optimal"]
    if p["objective"] != "time":
        return
    bound = plan["lower_bound_s"]
    say.need(bound <= best["time_s"] * (1 + 1e-12), "bound", bound, "is above", best["time_s"])
    say.need(plan["proven"] == (plan["gap"] == 0), "bound", "proven", plan["proven"], "with a gap of", plan["gap"])
    if plan["proven"]:
        say.need(ticks(bound) == ticks(best["time_s"]), "bound", bound, "of a proven plan that takes", best["time_s"])
        for name in ("unfused", "maximal", "greedy"):  # priced as optimal is, so none may be faster
            if name in rows:
                say.need(rows[name]["time_s"] >= best["time_s"] * (1 - 1e-12), "bound", name, "is faster than the proven optimum")


def check_limits(k, hw, say):
    """What an SM has: threads, registers and shared memory of a block, and of the blocks that occupancy says it holds."""
    row = k.row
    if row["template"] in ("serving", "communication", "transfer"):
        return
    if hw.get("shared_memory_per_block"):
        say.need(row["shared_bytes_per_block"] <= hw["shared_memory_per_block"] or row["template"] == "library", "limits", k.id,
                 "has", row["shared_bytes_per_block"], "bytes of shared memory")
    if hw.get("threads_per_block"):
        say.need(row["block"] <= hw["threads_per_block"], "limits", k.id, "has", row["block"], "threads")
    if hw.get("registers_per_thread"):
        say.need(row["registers_per_thread"] <= hw["registers_per_thread"], "limits", k.id, "has", row["registers_per_thread"],
                 "registers")
    if row["registers_per_thread"] and hw.get("threads_per_sm"):  # 0: a library does not say
        threads = row["occupancy"] * hw["threads_per_sm"]
        warps = -(-row["block"] // int(hw["warp_size"])) * hw["warp_size"]
        blocks = threads / warps
        say.need(about(blocks, round(blocks), 1e-9), "limits", k.id, "has", blocks, "blocks an SM")
        say.need(blocks <= hw["blocks_per_sm"] + 1e-9, "limits", k.id, "has", blocks, "blocks an SM")
        say.need(threads * row["registers_per_thread"] <= hw["registers_per_sm"] or row["template"] == "library", "limits", k.id, "has",
                 threads, "threads with", row["registers_per_thread"], "registers an SM")
        say.need(blocks * row["shared_bytes_per_block"] <= hw["shared_memory_per_sm"] or row["template"] == "library", "limits", k.id,
                 "has", blocks, "blocks with", row["shared_bytes_per_block"], "bytes of shared memory an SM")
        if blocks:
            waves = row["grid"] / (hw["sms"] * blocks)
            say.need(about(row["waves"], waves, 1e-9), "limits", k.id, "has", row["waves"], "waves, not", waves)


# All of it.

def known(g, plan, say):
    """Names of the plan that the graph has; without them there is nothing to check."""
    fine = True
    for k in plan["kernels"]:
        for name in k["operators"] + k["recomputed"]:
            fine &= say.need(name in g.node, "names", "kernel", k["id"], "has an operator", name)
        for x in k["inputs"] + k["outputs"]:
            fine &= say.need(x["tensor"] in g.tensor, "names", "kernel", k["id"], "has a tensor", x["tensor"])
    return fine


def check(graph_text, prediction, hardware):
    say, g = Report(), Graph(graph_text)
    warm = prediction["l2"] == "warm"
    hw = {name: key["value"] for name, key in hardware["keys"].items()}
    plan = prediction["plan"]
    check_graph(g, prediction["workload"], say)
    rows = check_strategies(prediction, say)
    check_bound(prediction, rows, say)
    if not known(g, plan, say):
        return say
    kernels = [Kernel(g, row) for row in plan["kernels"]]
    row = rows[plan["strategy"]]
    home = check_cover(g, kernels, say)
    memory = needed_in_memory(g, kernels)
    check_order(g, kernels, home, say)
    check_purpose(g, kernels, memory, say)
    check_bytes(g, kernels, memory, plan["strategy"] in OWN, say)
    if plan["strategy"] in OWN:
        check_l2(g, kernels, hw["l2_capacity"] * hw["l2_effective"], warm, say)
    check_memory(g, kernels, plan, row, hw.get("dram_capacity"), say)
    check_timeline(g, kernels, plan, say)
    check_sums(g, kernels, plan, row, say)
    for k in kernels:
        check_limits(k, hw, say)
    return say


def planned(program, call):
    """One line of CALLS: the faults, and how many checks there were."""
    args = call.split()
    hw = args[args.index("--hw") + 1]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        plan = os.path.join(folder, "plan.json")
        done = subprocess.run([program] + args + ["--json", plan, "--dump", "graph"], stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=300)
        if done.returncode != 0:
            return ["exit status %d: %s" % (done.returncode, done.stderr.strip())], 0
        with open(plan, encoding="utf-8") as p, open(hw + ".json", encoding="utf-8") as h:
            said = check(done.stdout, json.load(p)["plans"][0], json.load(h))
    return said.faults, said.checks


def run(program, path):
    with open(path, encoding="utf-8") as file:
        calls = [line.strip() for line in file if line.strip()]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda call: planned(program, call), calls))
    for call, (faults, _) in zip(calls, said):
        for fault in faults[:8]:
            print("fusesim %s\n    %s" % (call, fault))
    bad = sum(1 for faults, _ in said if faults)
    print("%d plans, %d checks, %d plans refused" % (len(calls), sum(checks for _, checks in said), bad))
    return bad > 0 or not calls


def main(args):
    if len(args) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    if args[0] == "--run":
        return 1 if run(args[1], args[2]) else 0
    with open(args[0], encoding="utf-8") as graph, open(args[1], encoding="utf-8") as plan, open(args[2], encoding="utf-8") as hw:
        said = check(graph.read(), json.load(plan)["plans"][0], json.load(hw))
    for fault in said.faults:
        print(fault)
    return 1 if said.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
