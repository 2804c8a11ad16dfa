# SPDX-License-Identifier: Apache-2.0
"""Changes one operator of C at a time, and asks whether a test notices.

    bench/mutate.sh [--count N] [--seconds S] [--seed S] [--budget S] [--out FILE] [--list] [--survivors]
                    [--scripts] [--rest S] [PATH[:LINE] ...]

PATH is a folder or a source below src/ or validate/ (default: the folders of FOLDERS below that are counted); with a LINE, all mutants
of that line. N mutants (default 20) of each folder are drawn with a seed, so that two runs draw the same ones; a longer run goes on where a shorter
one ended. It works on a copy of the sources in build/mutate, never on the sources themselves, whose library is built twice, as a shared
one: optimised, and one that counts lines, with which each unit test is run once. For a mutant only the touched source is compiled and
loaded before the library (libmutant.so); of the tests that run its line, those that killed in that file before and the quick ones are run first, until one fails
(at its first assertion, or by four times its usual time) or S seconds of the processor (--budget, default 60) are over. A line that no test runs is a
survivor at once. Where its object code is as before, it is an equivalent one.

What was found is kept in build/mutate/found.json while the sources are as they were; --survivors tries the ones that survived
once more, with the tests that were added or changed, or had no time. With --scripts the program is built, too, and what outlives the unit tests is tried
with all scripts of tests/cli that state facts of its folder (SCRIPTS below), on whatever line it is: a minute or more for each mutant. With --rest it is
then tried with the rest of ./test, too: what fuzz targets replay, tests/cases, unit tests that compare with what the program once wrote (LEFT_OUT), and the
other scripts of tests/cli but those of BESIDE and those that say that they cost more than S / 4, the quick ones first, until S seconds of the processor are over.
The table counts what these kill apart. A survivor is either equivalent (no input can tell it from the original), which bench/mutants.txt then says with
the reason, or a test is missing, which it may say too. FILE gets a table by folder and a line for each survivor. Mutants that don't compile are not counted.
"""
import argparse
import gzip
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

# Folders whose mutants are counted together, and the others.
FOLDERS = ["src/cost", "src/fusion", "src/graph", "src/plan/search", "src/emit", "validate"]
OTHERS = ["src/kernel", "src/plan/price", "src/plan/rivals", "src/vendor", "src/hw", "src/input"]
# Tests that prove nothing alone: what they compare is written down by the program.
LEFT_OUT = {"onnx_models", "torch_models", "schema"}

# Scripts of tests/cli that state facts of a folder: kernels agree with the reference, plans and bounds with what is worked out of the definitions a second time.
# No script that compares with what the program once wrote is among them.
KERNELS = ["backward", "codegen", "joint", "operators"]
PLANS = ["certificate", "equal_layers", "proof"]
SCRIPTS = {"src/cost": PLANS, "src/fusion": PLANS + KERNELS, "src/graph": PLANS + KERNELS, "src/plan/search": PLANS, "src/emit": KERNELS + ["validate_cuda", "validate_products"],
           "validate": ["calibrate_cuda", "host", "operators", "registers", "trust", "validate", "validate_cpu", "validate_cuda", "validate_products"]}

# Scripts that ask for other things than a plan and its figures, or that build the program themselves.
BESIDE = {"annotate", "bench", "capacity", "capacity_loads", "charts", "ci", "configs", "constants", "docs_model", "errors", "exports", "help", "house", "hw", "import",
          "inject", "install", "killed_sweep", "layers", "library", "long_names", "models", "onnx_refused", "packages", "progress", "read_by_others", "readme", "report_opened",
          "serving", "slurm", "torch_refused", "trace_opened", "wheel"}

UNTESTED = "survived: no test runs its line"
REST = " among the rest" # of ./test

# ./test runs the tests under sanitizers, too: what a mutant does without a definition ends it.
UNDEFINED = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]

# (what, pattern, replacement): each match outside of comments, strings and preprocessor lines is a mutant.
OPERATORS = [
    ("< to <=", r"(?<![<>=!-])<(?![<=])(?= )", "<="), ("<= to <", r"<=", "<"),
    ("> to >=", r"(?<![<>=!-])>(?![>=])(?= )", ">="), (">= to >", r"(?<!>)>=", ">"),
    ("== to !=", r"==", "!="), ("!= to ==", r"!=", "=="),
    ("&& to ||", r"&&", "||"), ("|| to &&", r"\|\|", "&&"),
    ("+ to -", r"(?<=[\w)\]] )\+(?= [\w(])", "-"), ("- to +", r"(?<=[\w)\]] )-(?= [\w(])", "+"),
    ("* to /", r"(?<=[\w)\]] )\*(?= [\w(])", "/"), ("/ to *", r"(?<=[\w)\]] )/(?= [\w(])", "*"),
    ("+= to -=", r"\+=", "-="), ("-= to +=", r"-=", "+="),
    ("! dropped", r"(?<![\w)])!(?=[\w(])", ""), ("fmin to fmax", r"\bfmin\b", "fmax"), ("fmax to fmin", r"\bfmax\b", "fmin"),
    ("ceil to floor", r"\bceil\b", "floor"), ("floor to ceil", r"\bfloor\b", "ceil"),
    ("true to false", r"\btrue\b", "false"), ("false to true", r"\bfalse\b", "true"),
    ("operand of && dropped", r"&& [^&|;{}()]+?(?= &&|\)| \|\||;)", ""), ("0 to 1", r"(?<![\w.])0(?![\w.])", "1"),
    ("1 to 2", r"(?<![\w.])1(?![\w.])", "2"), ("continue to break", r"\bcontinue;", "break;"),
]


def blank(text):
    """The same text with comments, strings and preprocessor lines as spaces."""
    spaces = lambda m: re.sub(r"[^\n]", " ", m.group())  # noqa: E731
    text = re.sub(r"/\*.*?\*/", spaces, text, flags=re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', spaces, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)


def mutants_of(path, line):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    bare = blank(text)
    for what, pattern, new in OPERATORS:
        for m in re.finditer(pattern, bare):
            at = bare.count("\n", 0, m.start()) + 1
            if line in (None, at) and "assert(" not in bare.splitlines()[at - 1]:
                yield {"path": path, "line": at, "what": what, "from": m.start(), "to": m.end(), "new": m.expand(new)}


def sources(root, paths):
    for given in paths:
        path, _, line = given.partition(":")
        full = os.path.join(root, path)
        if not os.path.exists(full):
            sys.exit("mutate: there is no '%s'" % path)
        names = [full] if os.path.isfile(full) else sorted(os.path.join(d, f) for d, _, fs in os.walk(full) for f in fs)
        for name in names:
            if name.endswith(".c"):
                yield os.path.relpath(name, root), int(line) if line else None


def files_named(root, wanted):
    return [os.path.join(at, name) for at, _, names in os.walk(root) for name in names if name == wanted]


def folder_of(path):
    return max((f for f in FOLDERS + OTHERS if path.startswith(f + "/")), key=len, default=None)


def key_of(mutant, text):
    """Its name in bench/mutants.txt and what is kept: it stays the same while its line, and how often that stands in the file, do."""
    lines = text.splitlines()
    line = lines[mutant["line"] - 1]
    same = sum(one == line for one in lines[:mutant["line"]])
    first = text.rfind("\n", 0, mutant["from"]) + 1
    column = mutant["from"] - first - (len(line) - len(line.lstrip()))
    return "%s | %s at %d%s | %s" % (mutant["path"], mutant["what"], column, " (%d)" % same if same > 1 else "", line.strip())


def grows_room(mutant, text):
    """Is it a number that is added to how many items an arena is asked for, or the one item that it is asked for? Nothing reads what is more than needed."""
    first = text.rfind("\n", 0, mutant["from"]) + 1
    before = text[first:mutant["from"]]
    call = before.rfind("fsim_new(")
    inside = call >= 0 and before.count("(", call) > before.count(")", call)
    alone = mutant["what"] == "1 to 2" and text[mutant["to"]] == ")" and bool(re.search(r", $", before))
    return mutant["what"] in ("0 to 1", "1 to 2") and inside and (alone or bool(re.search(r"[\w)\]] \+ $", before)))


def takes_either(mutant, text):
    """Is it `x > y ? x : y` or the like? Where both are equal, it does not matter which is taken."""
    if mutant["what"] not in ("> to >=", ">= to >", "< to <=", "<= to <"):
        return False
    start = max(text.rfind(c, 0, mutant["from"]) for c in ";{}")
    left = re.sub(r"\s+", " ", text[start + 1:mutant["from"]])
    right = re.match(r" (.+?) \? (.+)", re.sub(r"\s+", " ", text[mutant["to"]:text.find(";", mutant["to"])]))
    if not right:
        return False
    y, rest = right.groups()
    for cut in range(len(left)):
        x = left[cut:].strip()
        begins = cut == 0 or re.search(r"(=|\(|,|return|\?|:|&&|\|\|) *$", left[:cut])
        if not x or not begins or x.count("(") != x.count(")") or re.search(r"\+\+|--|[^=!<>]=[^=]", x + y):
            continue
        for taken in ("%s : %s" % (x, y), "%s : %s" % (y, x)):
            if rest.startswith(taken) and re.match(r"$|[,)\]]| :", rest[len(taken):]):
                return True
    return False


def only_indents(mutant, text):
    """Does it change how far a line of a kernel's text is indented, and nothing else? To fsim_say 0 means another place; all other numbers indent."""
    before = text[text.rfind("\n", 0, mutant["from"]) + 1:mutant["from"]]
    if re.search(r"\bfsim_say\(e, $", before):
        return mutant["what"] == "1 to 2"
    return mutant["what"] in ("0 to 1", "1 to 2", "+ to -") and bool(re.search(r"\bfsim_flash_put(_lines)?\(f, [^,()]*$", before))


def judged(root):
    """What bench/mutants.txt says of survivors: name -> 'equivalent: REASON' or 'open: REASON'."""
    path, found = os.path.join(root, "bench", "mutants.txt"), {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith(("equivalent: ", "open: ")):
                    said = line.strip()
                elif line.startswith("    "):
                    found[line.strip()] = said
    return found


def limit(seconds):
    """Of the processor; and a mutant that takes memory without end does not take all."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def digest_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Tree:
    """A copy of the sources, its library as a shared one, and the tests."""

    def __init__(self, root, scripts, rest):
        self.root, self.at, self.digests, self.scripts, self.rest = root, os.path.join(root, "build", "mutate"), {}, scripts, rest
        self.copy, self.build, self.counting = (os.path.join(self.at, name) for name in ("tree", "build", "counting"))
        os.makedirs(self.copy, exist_ok=True)
        for name in os.listdir(root):
            if name in ("build", ".git"):
                continue
            source, copy = os.path.join(root, name), os.path.join(self.copy, name)
            if os.path.isdir(source):
                shutil.copytree(source, copy, dirs_exist_ok=True, symlinks=True, copy_function=self.copy_changed)
            else:
                self.copy_changed(source, copy)
        # Each test loads libmutant.so before the library: an empty one, or a mutant's functions. Programs that a test starts don't.
        self.env = dict(os.environ, FUSESIM_CACHE=os.path.join(self.at, "cache"), CMOCKA_TEST_ABORT="1", LD_LIBRARY_PATH=os.path.join(self.at, "none"))
        os.makedirs(self.env["FUSESIM_CACHE"], mode=0o700, exist_ok=True)
        os.makedirs(self.env["LD_LIBRARY_PATH"], exist_ok=True)
        os.makedirs(os.path.join(self.at, "mutant"), exist_ok=True)
        none, self.library = (os.path.join(self.at, folder, "libmutant.so") for folder in ("none", "mutant"))
        cc = os.environ.get("CC", "cc")
        if self.call([cc, "-shared", "-Wl,-soname,libmutant.so", "-o", none, "-x", "c", "/dev/null"], 100) != 0:
            sys.exit("mutate: %s makes no library" % cc)
        self.configure(self.build, "-O1 -g0", none)
        self.configure(self.counting, "-O0 -g0 --coverage", none)
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            commands = json.load(file)
        self.command = {os.path.relpath(c["file"], self.copy): c["command"] for c in reversed(commands)}
        names = subprocess.run(["cmake", "--build", self.build, "--target", "help"], capture_output=True, text=True, check=True).stdout
        self.tests = sorted(set(re.findall(r"\b(\w+)_test\b", names)) - LEFT_OUT)
        mock = ["mockgpu"] if re.search(r"\bmockgpu\b", names) else []
        self.replayed = sorted(set(re.findall(r"\bfuzz_(\w+)\b", names))) if rest else []
        more = ["fusesim"] * bool(scripts or rest) + ["fuzz_" + name for name in self.replayed] + [t + "_test" for t in sorted(LEFT_OUT) if rest]
        if self.call(["cmake", "--build", self.build, "-j2", "--target", "fusesim_core"] + more + mock + [t + "_test" for t in self.tests], 7200) != 0:
            sys.exit("mutate: the tests can't be built in %s" % self.build)

        if self.call(["cmake", "--build", self.counting, "-j2", "--target", "fusesim_core"], 7200) != 0:
            sys.exit("mutate: the library can't be built in %s" % self.counting)
        self.places = [os.path.dirname(p) for p in files_named(self.counting, "libfusesim_core.so")]

    def configure(self, build, flags, none):
        wanted = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=" + flags,
                  "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DFUSESIM_TSAN=OFF", "-DFUSESIM_LLD=OFF", # ld knows the last of these
                  "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--no-as-needed %s -Wl,--as-needed -Wl,--copy-dt-needed-entries" % none]
        generator = ["-G", "Ninja"] if shutil.which("ninja") and not os.path.exists(os.path.join(build, "Makefile")) else []
        if self.call(["cmake", "-S", self.copy, "-B", build] + generator + wanted, 300) != 0:
            sys.exit("mutate: cmake fails in %s" % build)

    def copy_changed(self, source, copy):
        """Files that are equal keep their time, so that nothing is compiled again. The library becomes one whose functions can be replaced."""
        with open(source, "rb") as file:
            new = file.read()
        if source.endswith("CMakeLists.txt"):
            new = new.replace(b"add_library(fusesim_core STATIC", b"add_library(fusesim_core SHARED")
            new = new.replace(b"C_VISIBILITY_PRESET hidden", b"C_VISIBILITY_PRESET default")
        if os.path.exists(copy):
            with open(copy, "rb") as file:
                if file.read() == new:
                    return copy
        with open(copy, "wb") as file:
            file.write(new)
        shutil.copymode(source, copy)
        return copy

    def call(self, args, seconds, cpu=None, **more):
        """Exit status and CPU seconds of it; a status of None: it took longer than `seconds`, or `cpu` of the processor."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        limits = (lambda: limit(int(cpu) + 1)) if cpu else None
        env = dict(self.env, **more)
        try:
            status = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    timeout=seconds, check=False, env=env, preexec_fn=limits, cwd=self.at).returncode
        except subprocess.TimeoutExpired:
            status = None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return None if cpu and status in (-24, -9) else status

    def others(self):
        """The rest of ./test."""
        scripts = [name[:-3] for name in os.listdir(os.path.join(self.copy, "tests", "cli")) if name.endswith(".sh")]
        quick = {name for name in scripts if self.said_cost(name) <= self.rest / 4}
        return ["cases"] + ["fuzz." + name for name in self.replayed] + sorted(LEFT_OUT) + ["cli." + name for name in sorted(quick - BESIDE)]

    def said_cost(self, script):
        with open(os.path.join(self.copy, "tests", "cli", script + ".sh"), encoding="utf-8") as file:
            found = re.search(r"^#.*cost: (\d+)", file.read(2000), re.M)
        return int(found.group(1)) if found else 1

    def source_of(self, test):
        kind, _, name = test.partition(".")
        return {"cases": "tests/cases.sh", "cli": "tests/cli/%s.sh" % name, "fuzz": "tests/fuzz/%s.c" % name}.get(kind, "tests/unit/%s_test.c" % kind)

    def replay(self, name):
        """As tests/CMakeLists.txt has it: of its corpus, and of what else it reads."""
        more = ["tests/cases"] * (name in ("hardware", "onnx", "plan", "rows", "torch", "trace", "unit", "workload")) + ["tests/fuzz/corpus/" + name]
        seeds = [os.path.join(self.copy, one) for one in more] + ["/usr/share/libonnx-testdata/data"] * (name == "onnx")
        return [os.path.join(self.build, "tests", "fuzz_" + name)] + [one for one in seeds if os.path.exists(one)]

    def run_script(self, name, cpu=None, **more):
        scratch = os.path.join(self.at, "scratch", name)
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        more.update(FUSESIM=os.path.join(self.build, "fusesim"), SOURCE_DIR=self.copy, MOCKGPU=os.path.join(self.build, "tests", "libmockgpu.so"))
        status = self.call(["sh", "-c", 'cd "$1" && exec bash "$2"', "sh", scratch, os.path.join(self.copy, "tests", "cli", name + ".sh")], 600, cpu, **more)
        return 0 if status == 77 else status # skipped

    def run(self, test, cpu=None, **more):
        if test.startswith("cli."):
            return self.run_script(test[4:], cpu, **more)
        if test.startswith("fuzz."):
            return self.call(self.replay(test[5:]), 600, cpu, **more)
        if test == "cases":
            more.update(FUSESIM=os.path.join(self.build, "fusesim"), SOURCE_DIR=self.copy)
            return self.call([os.path.join(self.copy, "tests", "cases.sh")], 600, cpu, **more)
        if test == "gpu_run": # on the GPU that is none
            mock = os.path.join(self.build, "tests", "libmockgpu.so")
            more.update({"FUSESIM_%s_LIB" % name: mock for name in ("CUDA", "NVRTC", "CUPTI", "CUBLAS", "CUBLASLT", "NVML")}, MOCK_SKIP_REPEATS="1")
        return self.call([os.path.join(self.build, "tests", test + "_test")], 600, cpu, **more)

    def lines_of(self, test):
        """Runs the test; (CPU seconds, {source: lines it ran}), or None where it is skipped or fails."""
        data = os.path.join(self.at, "lines", test)
        shutil.rmtree(data, ignore_errors=True)
        os.makedirs(data)
        status, used, ran = self.run(test), self.used, {}
        if status == 0 and used > 2: # kernels that it compiled are kept
            status, used = self.run(test), min(used, self.used)
        if status != 0 or self.run(test, GCOV_PREFIX=data, LD_LIBRARY_PATH=":".join(self.places + [self.env["LD_LIBRARY_PATH"]])) != 0:
            shutil.rmtree(data)
            return None
        files = []
        for at, _, names in os.walk(data):
            for name in (n for n in names if n.endswith(".gcda")):
                notes = os.path.join("/", os.path.relpath(at, data), name[:-5] + ".gcno")
                if folder_of(notes.split(".dir/")[-1]):
                    os.symlink(notes, os.path.join(at, name[:-5] + ".gcno"))
                    files.append(os.path.join(at, name))
        for first in range(0, len(files), 100):
            said = subprocess.run(["gcov", "-j", "-t"] + files[first:first + 100], capture_output=True, text=True, cwd=data, check=False).stdout
            for one in said.splitlines():
                for file in json.loads(one)["files"] if one.startswith("{") else []:
                    path = os.path.relpath(os.path.join(self.counting, file["file"]), self.copy)
                    if folder_of(path):
                        counts = ran.setdefault(path, {})
                        for line in file["lines"]: # of a function that is in several files, too
                            counts[line["line_number"]] = counts.get(line["line_number"], 0) or int(line["count"] > 0)
        shutil.rmtree(data)
        return used, ran

    def known(self):
        """{test: (CPU seconds, {source: {line: whether it runs it}})}, measured once for these sources."""
        all_ = {}
        os.makedirs(os.path.join(self.at, "known"), exist_ok=True)
        for test in self.tests: # one that changed is run again; where a source changed, it may run any of its lines
            path = os.path.join(self.at, "known", test + ".json.gz")
            linked = digest_of(os.path.join(self.build, "tests", test + "_test"))
            if os.path.exists(path):
                with gzip.open(path, "rt") as file:
                    all_[test] = json.load(file)
            if all_.get(test, [""])[0] != linked:
                found = self.lines_of(test)
                all_[test] = (linked, found and (found[0], {p: (self.digest(p), sorted(lines.items())) for p, lines in found[1].items()}))
                with gzip.open(path, "wt", 1) as file:
                    json.dump(all_[test], file)
        now = {}
        for test in (t for t in self.tests if all_[t][1]):
            seconds, ran = all_[test][1]
            now[test] = (seconds, {p: dict(lines) if digest == self.digest(p) else None for p, (digest, lines) in ran.items()})
        self.version = {test: all_[test][0][:12] for test in now}
        return now

    def known_script(self, name):
        """CPU seconds of a script, or what else is tried on any line; measured once; None where it fails."""
        path, version = os.path.join(self.at, "known", name + ".json"), digest_of(os.path.join(self.copy, self.source_of(name)))[:12]
        kept = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
        if not kept or kept[0] != version:
            kept = (version, self.used if self.run(name) == 0 else None)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(kept, file)
        self.version[name] = version
        return kept[1]

    def digest(self, path):
        if path not in self.digests:
            self.digests[path] = digest_of(os.path.join(self.copy, path))
        return self.digests[path]

    def compile(self, path, text, to):
        """The object of a source that says `text`; its digest, or None."""
        folder = os.path.dirname(os.path.join(self.copy, path))
        source = os.path.join(folder, ".mutant.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        words = shlex.split(self.command[path])
        words = words[1:] if os.path.basename(words[0]) == "ccache" else words
        words = [w for w in words[:words.index("-o")] if w != "--coverage"] + UNDEFINED + ["-fPIC", "-w", "-c", source, "-o", to]
        try:
            return digest_of(to) if self.call(words, 300) == 0 else None
        finally:
            os.unlink(source)


class Judge:
    """found: what is known of mutants, by name."""

    def __init__(self, tree, budget, found):
        self.tree, self.budget, self.known = tree, budget, tree.known()
        self.scripts = {} # CPU seconds of those that may be run
        self.same, self.kills, self.sound = {}, {}, {}
        for name, one in found.items():
            if one[1].startswith("killed") and " by " in one[1]:
                self.note(name.split(" | ")[0], one[1].split()[-1])

    def note(self, path, test):
        for place in (path, folder_of(path)):
            kills = self.kills.setdefault(place, {})
            kills[test] = kills.get(test, 0) + 1

    def worth(self, path, test):
        """The more it killed in this file, and in the folder, the sooner it is run."""
        return 1 + 8 * self.kills.get(path, {}).get(test, 0) + 2 * self.kills.get(folder_of(path), {}).get(test, 0)

    def order(self, mutant):
        tests = []
        for test, (_, ran) in self.known.items():
            lines = ran.get(mutant["path"], {})
            if lines is None or lines.get(mutant["line"], 1 if lines else 0): # a line without code of its own belongs to another
                tests.append(test)
        facts = ["cli." + name for name in SCRIPTS.get(folder_of(mutant["path"]), []) if self.tree.scripts]
        scripts, others = self.sound_of(facts), self.sound_of(t for t in self.tree.others() if t not in facts) if self.tree.rest else []
        cheap_first = lambda t: (self.usual(t) + 0.05) / self.worth(mutant["path"], t)  # noqa: E731
        return sorted(tests, key=cheap_first) + sorted(scripts, key=cheap_first), sorted(others, key=cheap_first)

    def sound_of(self, scripts):
        scripts = list(scripts)
        for name in scripts:
            if name not in self.scripts:
                self.scripts[name] = self.tree.known_script(name)
        return [name for name in scripts if self.scripts[name] is not None]

    def usual(self, test):
        return self.scripts[test] if test in self.scripts else self.known[test][0]

    def fails_anyway(self, test):
        """Since the sources changed, or on a machine that is busy."""
        if test not in self.sound:
            self.sound[test] = self.tree.run(test) == 0
        return not self.sound[test]

    def judge(self, mutant, text, outlived):
        """'no code', 'killed by TEST', 'equivalent: ...', 'survived' or UNTESTED; outlived: {test: version} of those that it survived."""
        tree, path = self.tree, mutant["path"]
        base = os.path.join(tree.at, "mutant.o")
        new = tree.compile(path, text[:mutant["from"]] + mutant["new"] + text[mutant["to"]:], base)
        if new is None:
            return "no code"
        if path not in self.same:
            self.same[path] = tree.compile(path, text, base + ".same")
        if new == self.same[path]:
            return "equivalent: the same object code"
        (tests, others), spent, rest = self.order(mutant), 0, 0
        if not tests and not others:
            return UNTESTED
        if tree.call([os.environ.get("CC", "cc"), "-shared", "-Wl,-soname,libmutant.so", "-o", tree.library, base], 100) != 0:
            return "no code"
        for test in tests + others:
            usual = self.usual(test)
            late = rest > 0 and rest + usual > tree.rest if test in others else spent > 0 and spent + usual > self.budget and test not in self.scripts
            if outlived.get(test) == tree.version[test] or late:
                continue
            status = tree.run(test, 2 + 4 * usual, LD_LIBRARY_PATH=os.path.dirname(tree.library))
            spent, rest = spent + tree.used, rest + (tree.used if test in others else 0)
            if status != 0 and self.fails_anyway(test):
                if test in self.scripts:
                    self.scripts[test] = None
                else:
                    del self.known[test]
            elif status != 0:
                self.note(path, test)
                how = REST if test in others else ""
                return "killed%s by %s" % (how, test) if status is not None else "killed%s: %s hangs" % (how, test)
            outlived[test] = tree.version[test]
        return "survived" if tests else UNTESTED


def table(results, said_of, rest):
    lines = ["| folder | tried | killed |%s equivalent | survived | score |" % (" by the rest |" if rest else ""), "|---|--:|--:|--:|--:|--:|" + "--:|" * rest]
    total = [0, 0, 0, 0, 0]

    def line(name, row):
        tried, killed, late, equal = row[:4]
        figures = [tried, killed] + [late] * rest + row[3:]
        score = 100 * (killed + late) / max(1, tried - equal)
        return "| %s | %s | %s %% |" % (name, " | ".join("%d" % x for x in figures), "%.0f" % score if name.startswith("`") else "%.1f" % score)

    for folder in FOLDERS + OTHERS:
        mine = [(m, said) for m, said in results if folder_of(m["path"]) == folder and said != "no code"]
        killed, late = (sum(said.startswith("killed") and said.startswith("killed" + REST) == rare for _, said in mine) for rare in (False, True))
        equal = sum(said.startswith("equivalent") or (said.startswith("survived") and said_of.get(m["name"], "").startswith("equivalent")) for m, said in mine)
        row = [len(mine), killed, late, equal, len(mine) - killed - late - equal]
        if mine:
            lines.append(line("`%s`" % folder, row))
            total = [x + y for x, y in zip(total, row)] if folder in FOLDERS else total
    if total[0]:
        lines.append(line("all of the first six", total))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--out")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--rest", type=float, default=0)
    parser.add_argument("paths", nargs="*", default=[])
    args = parser.parse_args()
    root = os.getcwd()
    all_ = [m for path, line in sources(root, args.paths or FOLDERS) for m in mutants_of(path, line) if folder_of(path)]
    if not any(":" in p for p in args.paths):
        drawn = []
        for folder in FOLDERS + OTHERS:
            mine = [m for m in all_ if folder_of(m["path"]) == folder]
            random.Random("%d %s" % (args.seed, folder)).shuffle(mine)
            drawn += [(i, m) for i, m in enumerate(mine[:args.count])]
        all_ = [m for _, m in sorted(drawn, key=lambda one: one[0])]
    if args.list:
        for m in all_:
            print("%s:%d: %s" % (m["path"], m["line"], m["what"]))
        return 0
    if not all_:
        sys.exit("mutate: nothing to change there")
    texts, said_of = {}, judged(root)
    for m in all_:
        if m["path"] not in texts:
            with open(os.path.join(root, m["path"]), encoding="utf-8") as file:
                texts[m["path"]] = file.read()
        m["name"] = key_of(m, texts[m["path"]])
        if grows_room(m, texts[m["path"]]):
            said_of.setdefault(m["name"], "equivalent: room for one item more, which nothing reads")
        if takes_either(m, texts[m["path"]]):
            said_of.setdefault(m["name"], "equivalent: of two that are equal either is taken")
        if only_indents(m, texts[m["path"]]):
            said_of.setdefault(m["name"], "equivalent: how far a line of the kernel's text is indented")
    kept_at, kept = os.path.join(root, "build", "mutate", "found.json"), {}
    if os.path.exists(kept_at):
        with open(kept_at, encoding="utf-8") as file:
            kept = json.load(file)
    judge, results, end = None, [], time.monotonic() + args.seconds
    for m in all_:
        digest = hashlib.sha256(texts[m["path"]].encode()).hexdigest()
        before = kept.get(m["name"])
        again = args.survivors and before and before[1].startswith("survived") and not said_of.get(m["name"], "").startswith("equivalent")
        if not before or before[0] != digest or again:
            if time.monotonic() > end:
                continue
            judge = judge or Judge(Tree(root, args.scripts, args.rest), args.budget, kept)
            outlived = before[2] if again and len(before) > 2 else {}
            kept[m["name"]] = before = (digest, judge.judge(m, texts[m["path"]], outlived), outlived)
            print("%s:%d: %s: %s" % (m["path"], m["line"], m["what"], before[1]), flush=True)
            with open(kept_at + ".new", "w", encoding="utf-8") as file:
                json.dump(kept, file, indent=0)
            os.rename(kept_at + ".new", kept_at)
        results.append((m, before[1]))
    left = [(m, said_of.get(m["name"], said)) for m, said in results if said.startswith("survived")]
    lines = table(results, said_of, args.rest > 0) + [""] + ["- %s:%d: %s: %s\n    %s" % (m["path"], m["line"], m["what"], said, m["name"]) for m, said in left]
    text = "\n".join(lines) + "\n"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text)
    print(text + "%d of %d mutants in the time" % (len(results), len(all_)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
