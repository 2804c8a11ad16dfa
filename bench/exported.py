# SPDX-License-Identifier: Apache-2.0
"""What bench/models.sh and bench/exports.sh have in common: they plan exported models, each in a run of the program."""
import glob, json, os, subprocess, tempfile, time

from written import duration

def models(folder):
    return sorted(glob.glob(folder + "/*.onnx") + glob.glob(folder + "/*.pt2"))

def expected(path):
    """What the file of expectations beside a model says; {} where there is none."""
    for name in (path + ".expect.json", os.path.splitext(path)[0] + ".expect.json"):
        if os.path.exists(name):
            with open(name) as file:
                return json.load(file)
    return {}

def dims(path):
    """--dim NAME=VALUE for each open dimension: what DIMS says, or the expectations."""
    if os.environ.get("DIMS"):
        return os.environ["DIMS"].split()
    d = expected(path)
    value, symbols = d.get("dims") or {}, d.get("symbols") or {}
    named = {s: value[x["dim"]] for s, x in symbols.items() if x["dim"] in value} if path.endswith(".pt2") else value
    return [w for n, v in named.items() for w in ("--dim", f"{n}={v}")]

class Run:
    """One call of the program with --json for a model: error, or result, the parsed JSON; warnings; wall and CPU time, and memory, of the run and of what it started."""
    def __init__(self, path, *words):
        began = time.time()
        self.path = path
        arguments = ["timeout", os.environ.get("LIMIT", "60"), os.environ["FUSESIM"], *words, "--json", "-", *dims(path)]
        with tempfile.TemporaryFile() as messages:
            run = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=messages)
            out = run.stdout.read()
            _, status, use = os.wait4(run.pid, 0)
            messages.seek(0)
            self.messages = messages.read().decode().strip().splitlines()
        self.wall_s, self.cpu_s, self.mebibytes = time.time() - began, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024
        self.error = (self.messages or [f"ended with status {status}"])[-1] if status else None
        self.result = None if status else json.loads(out)

def planned(path, gpu, *options):
    """A Run that plans, with plan and strategies, by name, of its result."""
    run = Run(path, path, "--hw", gpu, *options)
    if not run.error:
        run.plan = run.result["plans"][0]
        run.strategies = {s["name"]: s for s in run.plan["strategies"]}
    return run

def kernels_and_time(strategies, name):
    return f"{strategies[name]['kernels']}, {duration(strategies[name]['time_s'], 4)}" if name in strategies else "-"

def proof(plan):
    return "proven" if plan["proven"] else f"gap {plan['gap'] * 100:.1f} %"
