#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the architectures of exports_table.py by torch.export, without weights: FOLDER/NAME.pt2 each, for bench/exports.sh.

    python3 bench/exports.py FOLDER [--only REGEX] [--core-aten] [--again] [--jobs N] [--list]

Beside each file lies NAME.pt2.expect.json: versions, parameters, and the FLOPs that torch.utils.flop_counter counts in the exported graph. FOLDER/failed.json says
which architectures could not be exported, and why. Models are made on the meta device, where weights take no memory; what does not export there is made on the CPU,
and its weights are left out of the file. What is there already is not exported again, but with --again. All take an hour on two cores.

    python3 -m venv VENV && VENV/bin/pip install torch transformers torchvision diffusers timm

A PyTorch without CUDA will do. Rows whose library is not installed fail, and say so.
"""
import argparse, contextlib, importlib.metadata, json, logging, os, re, resource, signal, time, traceback, warnings

import torch
from torch import nn
import exports_table

LIMIT_S, MEMORY = 400, 12 << 30  # of one export
TYPICAL = 64  # a size that depends on values
LIBRARIES = ("torch", "transformers", "torchvision", "diffusers", "timm")

def versions():
    found = {}
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found

class NotExported(Exception):
    """Says what went wrong on both devices."""

@contextlib.contextmanager
def no_initial_values():
    """Weights keep whatever is in memory: nobody reads them, and drawing random ones takes most of the time."""
    names = [n for n in dir(torch.nn.init) if n.endswith("_") and not n.startswith("_") and callable(getattr(torch.nn.init, n))]
    kept = {n: getattr(torch.nn.init, n) for n in names}
    for n in names:
        setattr(torch.nn.init, n, lambda tensor, *_, **__: tensor)
    try:
        yield
    finally:
        for n, function in kept.items():
            setattr(torch.nn.init, n, function)

def on_device(x, device):
    return torch.utils._pytree.tree_map(lambda t: t.to(device) if isinstance(t, torch.Tensor) else t, x)

def exported(make, device):
    with no_initial_values(), torch.device(device):
        model, args, kwargs = make()
    model.eval()
    return torch.export.export(model, on_device(args, device), on_device(kwargs, device), strict=False)

def export(make):
    """The program, and the device that it was exported on."""
    try:
        return exported(make, "meta"), "meta"
    except Exception as meta:
        try:
            return exported(make, "cpu"), "cpu"
        except Exception as cpu:
            raise NotExported(f"{reason(cpu)}; on the meta device: {reason(meta)}" if reason(cpu) != reason(meta) else reason(cpu)) from cpu

def grouped_product_flops(rows, weights, *_, **__):
    """Of a custom operator of transformers that PyTorch can't count: each row by the matrix of its group. Operands are shapes."""
    return 2 * rows[0] * rows[1] * weights[-1]

def counted_flops(program):
    """By torch.utils.flop_counter, on the shapes of the exported graph; None where the graph does not run on shapes alone."""
    from torch.utils.flop_counter import FlopCounterMode
    custom = getattr(getattr(torch.ops, "transformers", None), "grouped_mm_fallback", None)
    formulas = {custom: grouped_product_flops} if custom else {}
    inputs = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"]
    mode = next((x.fake_mode for x in inputs if hasattr(x, "fake_mode")), contextlib.nullcontext())
    try:
        with FlopCounterMode(display=False, custom_mapping=formulas) as counter, mode, torch.no_grad():
            torch.fx.Interpreter(program.graph_module).run(*inputs)
        return int(counter.get_total_flops())
    except Exception:
        return None

def sizes_of_data(program, typical):
    """Sizes of tensors that depend on values, such as how many elements a mask selects: a value for each."""
    values = [n.meta.get("val") for n in program.graph.nodes]
    symbols = {s for x in values if isinstance(x, torch.Tensor) for d in x.shape if isinstance(d, torch.SymInt) for s in d.node.expr.free_symbols}
    limits = {s: program.range_constraints[s] for s in symbols if s in program.range_constraints}
    return {str(s): int(max(x.lower, min(x.upper, typical))) for s, x in sorted(limits.items(), key=str)}

def without_values(x):
    """Large tensors on the meta device, small ones as they are: sizes may depend on their values."""
    if x.device.type == "meta" or x.nbytes <= 4096:
        return x
    meta = x.detach().to("meta")
    return nn.Parameter(meta, x.requires_grad) if isinstance(x, nn.Parameter) else meta

def write(name, make, core_aten, folder):
    began = time.time()
    program, device = export(make)
    core_aten = core_aten or getattr(make, "core_aten", False)
    if core_aten:
        program = program.run_decompositions()
    flops = counted_flops(program)
    for kept in (program._state_dict, program._constants):
        kept.update({key: without_values(value) for key, value in kept.items() if isinstance(value, torch.Tensor)})
    path = os.path.join(folder, name + ".pt2")
    torch.export.save(program, path + ".part")
    os.replace(path + ".part", path)
    sizes = sizes_of_data(program, getattr(make, "size_of_data", TYPICAL))
    parameters = {id(p): p.numel() for p in program.parameters()}
    with open(path + ".expect.json", "w") as out:
        json.dump({"name": name, "versions": versions(), "device": device, "core_aten": core_aten, "nodes": len(program.graph.nodes),
                   "parameters": sum(parameters.values()), "flops_torch_flop_counter": flops, "dims": sizes,
                   "symbols": {u: {"dim": u} for u in sizes}, "seconds": round(time.time() - began, 1)}, out, indent=1)

def reason(error):
    """The first line of an error."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text[:400] if isinstance(error, NotExported) else f"{type(error).__name__}: {text}"[:200]

def child(name, make, options):
    """In a process of its own: what it takes, what it breaks and how it ends stays its own."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(LIMIT_S)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    torch.set_num_threads(1)
    failed = os.path.join(options.folder, name + ".failed")
    try:
        write(name, make, options.core_aten, options.folder)
        with contextlib.suppress(FileNotFoundError):
            os.remove(failed)
    except BaseException as error:
        with open(failed, "w") as out:
            out.write(reason(error) + "\n\n" + traceback.format_exc())
        os._exit(1)
    os._exit(0)

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="names that match this")
    parser.add_argument("--core-aten", action="store_true", help="decomposed to core ATen operators")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="names alone")
    options = parser.parse_args()
    wanted = [(n, m) for n, m in exports_table.rows() if re.search(options.only, n)]
    if options.list:
        print(*(n for n, _ in wanted), sep="\n")
        return
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.makedirs(options.folder, exist_ok=True)
    path = lambda n, end=".pt2": os.path.join(options.folder, n + end)
    if not options.again:
        wanted = [(n, m) for n, m in wanted if not os.path.exists(path(n))]
    running = {}
    for name, make in [*wanted, *[(None, None)] * options.jobs]:
        while len(running) >= options.jobs or (name is None and running):
            pid, status = os.wait()
            of, began = running.pop(pid)
            if status and not os.path.exists(path(of, ".failed")):
                with open(path(of, ".failed"), "w") as out:
                    out.write(f"ended by signal {os.WTERMSIG(status)}, after {time.time() - began:.0f} s\n")
            how = open(path(of, ".failed")).readline().strip() if status else "exported"
            print(f"{of}: {how} ({time.time() - began:.0f} s)", flush=True)
        if name is None:
            break
        with contextlib.suppress(FileNotFoundError):
            os.remove(path(name, ".failed"))
        pid = os.fork()
        if pid == 0:
            child(name, make, options)
        running[pid] = name, time.time()
    failed = {n: open(path(n, ".failed")).readline().strip() for n, _ in exports_table.rows() if os.path.exists(path(n, ".failed")) and not os.path.exists(path(n))}
    with open(path("failed", ".json"), "w") as out:
        json.dump(failed, out, indent=1, sort_keys=True)
    there = sum(os.path.exists(path(n)) for n, _ in exports_table.rows())
    print(f"{there} of {len(exports_table.rows())} architectures are exported")

if __name__ == "__main__":
    main()
