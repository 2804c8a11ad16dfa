# SPDX-License-Identifier: Apache-2.0
"""Changes one operator of C at a time, and asks whether a test notices.

    bench/mutate.sh [--count N] [--seconds S] [--seed S] [--out FILE] [--list] [PATH[:LINE] ...]

PATH is a folder or a source below src/ or validate/ (default: the folders of the table TESTS below); with a LINE, all mutants of that
line. N mutants (default 20) are drawn with a seed, so that two runs draw the same ones. For each, only the touched file is compiled and the
tests of its folder are linked and run until one fails; what no test notices has survived. It works on a copy of the sources in
build/mutate, never on the sources themselves. S is a limit of seconds (default 600).

A survivor is either equivalent (no input can tell it from the original) or a test is missing. FILE gets a table by folder and a line
for each survivor. Mutants that don't compile (-Werror included) are not counted.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time

# Tests that run what is in a folder, the quickest to fail first.
TESTS = {
    "src/cost": "worked traffic contraction convolution attention kernels seeds golden vendor aten",
    "src/kernel": "worked schedule tile kernels seeds golden",
    "src/fusion": "worked legal kernels epilogue alike seeds golden tile optimum",
    "src/graph": "worked graph shapes batch types gradient basis reference",
    "src/plan/price": "worked plan saved repeats seeds phases baselines optimum",
    "src/plan/search": "worked optimum search seeds ways layered",
    "src/plan/rivals": "baselines saved seeds",
    "src/emit": "worked dialect kernels tile threads flash",
    "src/vendor": "vendor aten baselines seeds golden",
    "src/hw": "hw basis",
    "src/input": "base import",
    "validate/reference": "worked reference threads",
    "validate/trial": "kernels cpu backend",
}

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


def folder_of(path):
    return max((f for f in TESTS if path.startswith(f + "/")), key=len, default=None)


def call(args, seconds):
    """Exit status; None: it took longer than `seconds`."""
    try:
        return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        return None


class Tree:
    """A copy of the sources with a build of its own."""

    def __init__(self, root):
        self.root, self.copy = root, os.path.join(root, "build", "mutate", "tree")
        self.build = os.path.join(root, "build", "mutate", "build")
        os.makedirs(self.copy, exist_ok=True)
        for name in os.listdir(root):
            if name in ("build", ".git"):
                continue
            source, copy = os.path.join(root, name), os.path.join(self.copy, name)
            if os.path.isdir(source):
                shutil.copytree(source, copy, dirs_exist_ok=True, symlinks=True, copy_function=self.copy_changed)
            else:
                self.copy_changed(source, copy)
        if call(["cmake", "-S", self.copy, "-B", self.build, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1 -g0"], 300) != 0:
            sys.exit("mutate: cmake fails in %s" % self.build)

    @staticmethod
    def copy_changed(source, copy):
        """Files that are equal keep their time, so that nothing is compiled again."""
        with open(source, "rb") as file:
            new = file.read()
        if os.path.exists(copy):
            with open(copy, "rb") as file:
                if file.read() == new:
                    return copy
        return shutil.copy(source, copy)

    def write(self, path, text):
        with open(os.path.join(self.copy, path), "w", encoding="utf-8") as file:
            file.write(text)

    def make(self, targets, seconds=900):
        return call(["cmake", "--build", self.build, "-j2", "--target"] + targets, seconds)

    def run(self, test):
        return call([os.path.join(self.build, "tests", test)], 60)


def judge(tree, mutant):
    """'no code', 'killed by TEST', 'killed: hangs' or 'survived'."""
    with open(os.path.join(tree.root, mutant["path"]), encoding="utf-8") as file:
        text = file.read()
    tree.write(mutant["path"], text[:mutant["from"]] + mutant["new"] + text[mutant["to"]:])
    try:
        if tree.make(["fusesim_core"]) != 0:
            return "no code"
        for name in TESTS[folder_of(mutant["path"])].split():
            test = name + "_test"
            if tree.make([test]) != 0:
                return "no code"
            status = tree.run(test)
            if status not in (0, 77):
                return "killed by %s" % name if status is not None else "killed: %s hangs" % name
        return "survived"
    finally:
        tree.write(mutant["path"], text)


def table(results):
    lines = ["| folder | tried | killed | survived | score |", "|---|--:|--:|--:|--:|"]
    for folder in TESTS:
        mine = [said for m, said in results if folder_of(m["path"]) == folder and said != "no code"]
        killed = sum(said.startswith("killed") for said in mine)
        if mine:
            lines.append("| `%s` | %d | %d | %d | %.0f %% |" % (folder, len(mine), killed, len(mine) - killed, 100 * killed / len(mine)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("paths", nargs="*", default=[])
    args = parser.parse_args()
    root = os.getcwd()
    paths = args.paths or [f for f in TESTS if f.startswith(("src/cost", "src/fusion", "src/graph", "src/plan", "src/emit", "validate"))]
    found = [m for path, line in sources(root, paths) for m in mutants_of(path, line) if folder_of(path)]
    if not any(":" in p for p in paths):
        random.Random(args.seed).shuffle(found)
        found = found[:args.count]
    if args.list:
        for m in found:
            print("%s:%d: %s" % (m["path"], m["line"], m["what"]))
        return 0
    if not found:
        sys.exit("mutate: nothing to change there")
    tree, results, end = Tree(root), [], time.monotonic() + args.seconds
    tests = sorted({t + "_test" for m in found for t in TESTS[folder_of(m["path"])].split()})
    if tree.make(["fusesim_core"] + tests, 3600) != 0 or any(tree.run(t) not in (0, 77) for t in tests):
        sys.exit("mutate: the tests fail without a change")
    for m in found:
        if time.monotonic() > end:
            break
        results.append((m, judge(tree, m)))
        print("%s:%d: %s: %s" % (m["path"], m["line"], m["what"], results[-1][1]), flush=True)
    lines = table(results) + [""] + ["- %s:%d: %s" % (m["path"], m["line"], m["what"]) for m, said in results if said == "survived"]
    text = "\n".join(lines) + "\n"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text)
    print(text + "%d of %d mutants in the time" % (len(results), len(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
