# SPDX-License-Identifier: Apache-2.0
# The work of bench/inject.sh: every command below is run once for each call that can fail (tests/inject/inject.c), which fails in that run. Of each run is asked: no signal ended
# it; its exit status is one that such a fault may have; where it is 0, all that it wrote is what it writes undisturbed; where it is not, there is one error message, every output is
# as it was before, and no temporary file is left. Prints a table; ends with 1 where a run breaks a rule.
import argparse, concurrent.futures, hashlib, os, shutil, subprocess, sys, tempfile

KINDS = ["alloc", "memstream", "open", "read", "write", "sync", "rename", "map", "start", "load", "thread", "clock", "filesize"]
# A fault of a kind may end the program so; what is not said: 70. Inputs that can't be opened or read are missing (66), tools and devices unavailable (69).
MAY = {"open": {2, 66, 69, 70}, "read": {66, 69, 70}, "map": {66, 70}, "start": {69, 70}, "load": {69, 70}, "write": {70}, "thread": {70}}


def commands(top, more):
    # Steps limit the searches: without them the clock does too, and on a busy machine a run that nothing disturbs ends elsewhere.
    steps, small = "--search-steps 6000000", f"{top}/tests/measured/toy.csv"
    mlp = f"mlp --hw t4 --set M=64 {steps}"
    yield "plan", f"{mlp} --json o.json --dot o.dot --trace o.trace --markdown o.md"
    yield "plan, chart", f"{mlp} --chart o.svg"
    yield "plan --train", "mlp --hw t4 --train --search-steps 300000 --json o.json" # each run would take seconds
    yield "plan, gates", f"{mlp} --gate time=1s --junit o.xml"
    yield "explain", f"explain mlp --hw t4 {steps} h g"
    yield "enumerate", "enumerate mlp --hw t4"
    yield "regions", f"regions mlp --hw t4 --over M=64:128:64 {steps}"
    yield "codegen", f"codegen mlp --hw t4 {steps} -o o.d"
    yield "hw show", "hw show t4"
    yield "hw list", "hw list"
    yield "validate", f"validate --measurements {small} --workload-root {top}/tests/measured/workloads --json o.json --markdown o.md"
    yield "calibrate", f"calibrate --hw {top}/hwmodels/t4.yaml --measurements {small} -o o.yaml"
    yield "import", f"import --measurements {top}/tests/traces/ncu-mlp.csv --json o.json"
    if more:
        yield "validate --device cpu", "validate mlp --device cpu --no-measure --set M=4 --set H=64 --json o.json"


def state(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            found[os.path.relpath(path, folder)] = hashlib.sha256(open(path, "rb").read()).hexdigest()
    return found


class Trial:
    def __init__(self, program, library, words):
        self.program, self.library, self.words = program, library, words
        self.folder = tempfile.mkdtemp(prefix="inject-")
        self.good = self.run("none", 0)
        self.after = state(self.folder)

    def run(self, kind, at, folder=None, count=None):
        env = dict(os.environ, LC_ALL="C", FUSESIM_CACHE="", TMPDIR=folder or self.folder)
        command = [self.program] + self.words
        if kind == "filesize":
            command = ["bash", "-c", f"trap '' XFSZ; ulimit -f {at}; exec \"$@\"", "-"] + command
        else:
            env.update(LD_PRELOAD=self.library, INJECT_KIND=kind, INJECT_AT=str(at))
            if count:
                env["INJECT_COUNT"] = count
        p = subprocess.run(command, cwd=folder or self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return p.returncode, p.stdout, p.stderr

    def calls(self, kind):
        path = os.path.join(tempfile.gettempdir(), f"inject-{os.getpid()}-count")
        self.run(kind, 0, count=path)
        n = int(open(path).read())
        os.unlink(path)
        return n

    # What is wrong with the run in which call `at` of `kind` fails; None: nothing.
    def wrong(self, kind, at, fresh):
        folder = tempfile.mkdtemp(prefix="inject-")
        try:
            if not fresh:
                shutil.copytree(self.folder, folder, dirs_exist_ok=True)
                for name in self.after:
                    with open(os.path.join(folder, name), "ab") as f:
                        f.write(b"\nold\n") if not name.startswith("o.d/") else None
            before = state(folder)
            try:
                code, out, err = self.run(kind, at, folder)
            except subprocess.TimeoutExpired:
                return "hangs", ""
            now = state(folder)
            said = err.decode(errors="replace")
            if code < 0:
                return f"signal {-code}", said
            if any(name.endswith(".tmp") or name.startswith("fusesim-") for name in now):
                return "a temporary file is left", str(sorted(now))
            if code == self.good[0]:
                if self.words == ["hw", "list"] and kind in ("open", "read") and b" not valid" in out:
                    return None  # a GPU whose file can't be read is a row of the list
                if out != self.good[1]:
                    return f"exit {code}, another result", said
                if now != self.after:
                    changed = [n for n in set(now) | set(self.after) if now.get(n) != self.after.get(n)]
                    return f"exit {code}, other files", f"{changed} {said}"
                return None
            if code not in MAY.get(kind, {70}):
                return f"exit {code}", said
            if "error:" not in said and "fusesim:" not in said:
                return f"exit {code} without a message", said
            for name, digest in now.items():
                if digest not in (before.get(name), self.after.get(name)):
                    return f"exit {code}, half-written {name}", said
            return None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program"), p.add_argument("library"), p.add_argument("top")
    p.add_argument("--kind", default=",".join(KINDS)), p.add_argument("--command"), p.add_argument("--every", type=int, default=1)
    p.add_argument("--more", action="store_true"), p.add_argument("--show", type=int, default=3), p.add_argument("--jobs", type=int, default=os.cpu_count())
    a = p.parse_args()
    table, broken = [], 0
    for name, words in commands(os.path.abspath(a.top), a.more):
        if a.command and a.command != name:
            continue
        t = Trial(os.path.abspath(a.program), os.path.abspath(a.library), words.split())
        if t.good[0] not in (0, 1):
            sys.exit(f"{name}: undisturbed it ends with {t.good[0]}: {t.good[2].decode()}")
        for kind in a.kind.split(","):
            n = 24 if kind == "filesize" else t.calls(kind)
            places = list(range(0 if kind == "filesize" else 1, n + 1, a.every if n > 100 else 1))
            with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
                results = list(pool.map(lambda at: t.wrong(kind, at, at % 2 == 0), places))
            bad = [(at, r) for at, r in zip(places, results) if r]
            table.append((name, kind, len(places), len(bad)))
            broken += len(bad)
            if bad:
                print(f"{name}: {kind}: {len(bad)} of {len(places)}", file=sys.stderr)
            kinds = {}
            for at, (what, said) in bad:
                kinds.setdefault(what, []).append((at, said))
            for what, list_ in sorted(kinds.items()):
                print(f"    {what}: {len(list_)}: calls {' '.join(str(at) for at, _ in list_[:a.show])}: {list_[0][1].strip()[:300]}", file=sys.stderr)
        shutil.rmtree(t.folder, ignore_errors=True)
    names = list(dict.fromkeys(row[0] for row in table))
    kinds = list(dict.fromkeys(row[1] for row in table))
    of = {(row[0], row[1]): row for row in table}
    print("| command | " + " | ".join(kinds) + " |\n|---" * 1 + "|---" * len(kinds) + "|")
    for name in names:
        print(f"| {name} | " + " | ".join(f"{of[name, k][2]}" + (f" (**{of[name, k][3]}**)" if of[name, k][3] else "") for k in kinds) + " |")
    print(f"\n{sum(r[2] for r in table)} faults, {broken} that broke a rule (in bold).")
    return 1 if broken else 0


sys.exit(main())
