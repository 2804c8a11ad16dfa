# SPDX-License-Identifier: Apache-2.0
# What house.sh asks of the sources: paths in comments and documents exist, functions are short and take few parameters, files are short,
# headers say what they declare, names say something, files do not include each other in a circle, only validate/cuda knows NVIDIA's driver.
import os, re, subprocess, sys

# Recorded numbers: a change may lower them and must not raise them. Lower them here when it does.
MOST_LINES = 80
LONG = set()  # longer ones that are to be split
MOST_FILE_LINES = 600
# Longer sources, and why each is one subject. A file that is not longer any more goes from here.
LONG_FILES = {}
MOST_PARAMETERS = 6
FUNCTIONS_OVER_PARAMETERS = 0
DECLARATIONS_WITHOUT_COMMENT = 0
# Files that include each other in a circle of any length, a source and its header being one; and why they must. A circle that is gone goes from here.
CIRCLES = {}
# Words that say nothing as the whole name of a function, a type or a field: what was made, given, held? by whom?
VAGUE_NAMES = {"apart", "beside", "follow", "follows", "given", "goes", "gone", "held", "hold", "holds", "kin", "made", "moved", "moves", "moving", "said",
               "stuff", "thing", "things", "told", "turn", "turns"}
# Those that are to be renamed. One that is gone goes from here.
VAGUE_LEFT = set()
STALE_PATHS = set()
# These name files of other programs by themselves, as sources of numbers.
FOREIGN = {"docs/MODEL.md", "src/vendor/triton.h"}

os.chdir(sys.argv[1])
failures = 0


def complain(what):
    global failures
    failures += 1
    print("FAILED:", what)


def tracked():
    try:
        out = subprocess.run(["git", "ls-files", "-c", "-o", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):  # an archive without git
        out = [os.path.join(d, f)[2:] for d, _, names in os.walk(".") if not d.startswith(("./build", "./.git")) for f in names]
    return sorted(f for f in out if f and os.path.isfile(f) and not f.startswith("build/"))


files = tracked()
names = {os.path.basename(f) for f in files}
# Files that are written when the program runs or is built, or that others have.
elsewhere = {"fusesim_dialect.h", "fsim_shipped_relatives.c", "launcher.c", "launcher.cu", "cuda.h", "yaml.h", "time.h", "math.h", "cublasLt.h", "cupti_range_profiler.h", "nvrtc.h", "kernel.c", "omp.h",
             "torch.h", "sysexits.h", "nlopt.h", "cupti_profiler_host.h", "cmocka.h", "cJSON.h", "stdio.h", "main.cu", "mma.h"}


def comments(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    if path.endswith((".md", ".txt")):
        return text
    if path.endswith((".sh", ".py", ".yaml", ".csv")) or "." not in os.path.basename(path):
        return "\n".join(l for l in text.split("\n") if l.lstrip().startswith("#"))
    return "\n".join(re.findall(r"/\*.*?\*/", text, re.S))


def check_paths():
    folder = re.compile(r"(?<![\w./$-])((?:src|validate|bench|tests|include|examples|docs)/[\w./-]*[\w/])")
    header = re.compile(r"(?<![\w./<\"-])((?:[\w-]+/)*[\w-]+\.(?:h|c|def|cu|sh|py))\b(?![\w(])")
    for path in files:
        if not path.endswith((".c", ".h", ".def", ".cu", ".sh", ".py", ".md", ".txt")) or path.startswith(("reports/", "tests/fuzz/corpus", "tests/traces")):
            continue
        text = comments(path)
        said = set(folder.findall(text)) | set(header.findall(text))
        for name in sorted(said):
            base = os.path.basename(name.rstrip("/"))
            where = [name, os.path.join(os.path.dirname(path), name), os.path.join(os.path.dirname(os.path.dirname(path)), name), "src/" + name, "tests/" + name, "validate/" + name]
            if name.startswith(("torch/", "csrc/", "hopper/")) or (path in FOREIGN and "/" not in name):
                continue
            if any(os.path.exists(w) for w in where) or base in elsewhere or re.match(r"k\d", base) or "NAME" in name or "CASE" in name:
                continue
            if "/" not in name and base in names:
                continue
            if any(os.path.isfile(n) or os.path.isfile(n + ".c") for n in [name + ".h", name + ".c", "src/" + name + ".c"]):
                continue
            if (path, name) not in STALE_PATHS:
                complain(f"{path} speaks of {name}, which is not there")


def check_metrics():
    many, bare = [], []
    for path in files:
        if not path.startswith(("src/", "validate/", "include/")) or not path.endswith((".c", ".h")):
            continue
        lines = open(path, encoding="utf-8").read().split("\n")
        start = None
        for i, line in enumerate(lines):
            if line == "{":
                start = i
            if line == "}" and start is not None:
                k = start
                while k > 0 and lines[k - 1] and not lines[k - 1].startswith((" *", "/*", "#", "}")) and not lines[k - 1].endswith((";", "*/")):
                    k -= 1
                said = " ".join(lines[k:start])
                name = re.search(r"\b(\w+)\(", said)
                if i - k + 1 > MOST_LINES and not (name and name.group(1) in LONG):
                    complain(f"{path}:{k + 1}: {name.group(1) if name else said} has {i - k + 1} lines; at most {MOST_LINES}")
                depth, count = 0, 1
                for c in said[name.end():] if name else "":
                    if c == ")" and depth == 0:
                        break
                    depth += (c == "(") - (c == ")")
                    count += c == "," and depth == 0
                if count > MOST_PARAMETERS:
                    many.append(f"{path}:{k + 1}: {name.group(1)} has {count} parameters")
                start = None
        for i, line in enumerate(lines if path.endswith(".h") else []):
            m = re.match(r"^[a-z].*\b(fsim_\w+)\(", line)
            if m and not line.startswith(("typedef", "static inline", "#")) and not line.rstrip().endswith("*/") and not (i and lines[i - 1].rstrip().endswith("*/")):
                bare.append(f"{path}:{i + 1}: {m.group(1)} has no comment")
    for found, most, what in ((many, FUNCTIONS_OVER_PARAMETERS, f"functions with more than {MOST_PARAMETERS} parameters"),
                              (bare, DECLARATIONS_WITHOUT_COMMENT, "declarations without a comment of their own")):
        print(f"{len(found)} {what}; recorded: {most}")
        if len(found) > most:
            complain(f"{len(found)} {what}; recorded are {most}:\n  " + "\n  ".join(found))


def check_file_lengths():
    lines = {}
    for path in files:
        if path.startswith(("src/", "validate/", "include/")) and path.endswith((".c", ".h")):
            lines[path] = open(path, encoding="utf-8").read().count("\n")
    long = {path for path in lines if lines[path] > MOST_FILE_LINES}
    for path in sorted(long - set(LONG_FILES)):
        complain(f"{path} has {lines[path]} lines; at most {MOST_FILE_LINES}: split it by subject")
    for path in sorted(set(LONG_FILES) - long):
        complain(f"{path} has no more than {MOST_FILE_LINES} lines: take it out of LONG_FILES")
    print(f"{len(long)} files of more than {MOST_FILE_LINES} lines; recorded: {len(LONG_FILES)}")


# Who includes what of validate/cuda from elsewhere: `validate --registers` compiles kernels without a device. All else goes by backends.def.
USERS_OF_CUDA = {("src/report/compiled.h", "validate/cuda/compiled.h")}


def check_drivers():
    """Only validate/cuda calls NVIDIA's driver and libraries; the rest knows devices by the operations of fsim_backend."""
    driver = re.compile(r"\b(?:cu[A-Z]\w*|CU[a-z_]\w+|(?:nvrtc|cupti|cublas|cublasLt|cudnn|nvml|cuda)[A-Z]\w*|(?:NVRTC|CUPTI|CUBLAS|CUBLASLT|CUDNN|NVML)_\w+|CUpti\w*|CUPTI[a-z]\w*"
                        r"|fsim_(?:cu|cuda|cupti|nvrtc|nvml|gpu)_(?!backend\b)\w+|FSIM_(?:CU|CUDA|CUPTI|NVRTC|NVML|GPU|LT)_\w+)\b")
    for path in files:
        if not path.startswith(("src/", "validate/", "include/")) or path.startswith("validate/cuda/") or not path.endswith((".c", ".h", ".def")):
            continue
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), open(path, encoding="utf-8").read(), flags=re.S)
        for i, line in enumerate(text.split("\n")):
            to = re.match(r'[ \t]*#[ \t]*include "(validate/cuda/[^"]*)"', line)
            if to and (path, to.group(1)) not in USERS_OF_CUDA:
                complain(f"{path}:{i + 1} includes {to.group(1)}: only validate/cuda knows the driver")
            if re.search(r'strn?cmp\([^;]*"(?:cuda|cpu)"', line):
                complain(f"{path}:{i + 1} asks for a device by its name: ask its back end")
            for name in driver.findall(re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)):
                complain(f"{path}:{i + 1} names {name}: only validate/cuda knows the driver")


def check_architectures():
    """What depends on the architecture is a column of src/hw/architecture.def: no other code compares a compute capability with a number."""
    number = re.compile(r"\bsm *(?:[<>]=?|[!=]=) *[1-9]\d|\b[1-9]\d+ *(?:[<>]=?|[!=]=) *(?:\w+(?:->|\.))*sm\b")
    for path in files:
        if not path.startswith(("src/", "validate/")) or not path.endswith((".c", ".h")) or path == "src/hw/architecture.c":
            continue
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), open(path, encoding="utf-8").read(), flags=re.S)
        for i, line in enumerate(text.split("\n")):
            if number.search(re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)):
                complain(f"{path}:{i + 1} compares sm with a number: ask hw->arch, by a column of src/hw/architecture.def")


def inclusions():
    """What each file includes of the program's own, a file and its header being one: unit -> units."""
    includes = {}
    for path in files:
        if path.startswith(("src/", "validate/")) and path.endswith((".c", ".h")):
            for name in re.findall(r'^[ \t]*#[ \t]*include "([^"]+)"', open(path, encoding="utf-8").read(), re.M):
                for to in ("src/" + name, name, os.path.join(os.path.dirname(path), name)):
                    if os.path.exists(to) and to.endswith((".c", ".h")) and to[:-2] != path[:-2]:
                        includes.setdefault(path[:-2], set()).add(to[:-2])
    return includes


def shortest_way(includes, start, end):
    """The files on the shortest way of inclusions from start to end, both included; None: there is none."""
    came = {start: None}
    queue = [start]
    for at in queue:
        for to in sorted(includes.get(at, ())):
            if to == end:
                way = [end]
                while at is not None:
                    way.append(at)
                    at = came[at]
                return way[::-1]
            if to not in came:
                came[to] = at
                queue.append(to)
    return None


def check_circles():
    includes = inclusions()
    found, said = set(), set()
    for start in sorted(includes):
        way = shortest_way(includes, start, start)
        if not way or start in said:
            continue
        # all that start reaches and that reaches it
        circle = tuple(sorted({u for u in includes if u == start or (shortest_way(includes, start, u) and shortest_way(includes, u, start))}))
        said |= set(circle)
        found.add(circle)
        if circle not in CIRCLES:
            complain("these include each other: " + " -> ".join(way))
    for circle in sorted(set(CIRCLES) - found):
        complain("no longer a circle, take it out of CIRCLES: " + ", ".join(circle))
    print(f"{len(found)} circles of files; recorded: {len(CIRCLES)}")


def declared_names(path):
    # functions and types at file level, fields of structs; not parameters and locals
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    in_struct = False
    for line in text.split("\n"):
        if re.match(r"typedef .*\b\w+;$", line):
            yield from re.findall(r"(\w+);$", line)
        elif re.match(r"(typedef )?(struct|union)\b.*\{$", line):
            in_struct = True
        elif line.startswith("}"):
            in_struct = False
            yield from re.findall(r"(\w+);$", line)
        elif in_struct and line.rstrip().endswith((";", ",")):
            yield from re.findall(r"(\w+)(?:\[[^\]]*\])*\s*(?=[,;])", line)
        elif re.match(r"[a-z]", line) and "(" in line:
            yield from re.findall(r"(\w+)\(", line)[:1]


def check_names():
    left = set()
    for path in files:
        if path.startswith(("src/", "validate/", "include/")) and path.endswith((".c", ".h")):
            for name in declared_names(path):
                if name.removeprefix("fsim_") in VAGUE_NAMES:
                    left.add((path, name))
    for path, name in sorted(left - VAGUE_LEFT):
        complain(f"{path}: '{name}' does not say what it is; see Names and units in CONTRIBUTING.md")
    for path, name in sorted(VAGUE_LEFT - left):
        complain(f"{path} has no '{name}' any more: take it from VAGUE_LEFT")


check_paths()
check_metrics()
check_names()
check_file_lengths()
check_drivers()
check_architectures()
check_circles()
sys.exit(failures > 0)
