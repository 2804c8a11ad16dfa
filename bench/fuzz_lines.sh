#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/fuzz_lines.sh: which lines the fuzz targets run, by folder: each target replays the repository's corpus and what bench/fuzz.sh found (build/fuzzing/corpus) in a build that counts lines
# (BUILD, default build/fuzz-lines, which takes ten minutes to make). A table on stdout. Needs gcc, gcov and python3.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/${BUILD:-build/fuzz-lines} data=$PWD/build/fuzzing/lines
names=$(ls tests/fuzz/*.c | xargs -n 1 basename | sed 's/\.c$//')
if [ -z "${BUILD:-}" ]; then
    CC=gcc cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug '-DCMAKE_C_FLAGS_DEBUG=-O0 -g0' -DCMAKE_C_FLAGS=--coverage -DFUSESIM_TSAN=OFF >/dev/null
    cmake --build "$build" -j 2 --target $(for name in $names; do echo "fuzz_$name"; done) >/dev/null
fi
rm -rf "$data"
mkdir -p "$data"
for name in $names; do
    seeds=()
    for folder in "tests/fuzz/corpus/$name" "build/fuzzing/corpus/$name"; do [ ! -d "$folder" ] || seeds+=("$folder"); done
    case $name in workload | hardware) seeds+=(tests/cases) ;; esac
    GCOV_PREFIX=$data timeout 600 "$build/tests/fuzz_$name" "${seeds[@]}" >/dev/null 2>"$data/log" || { echo "$name fails: $(tail -n 1 "$data/log")"; exit 1; }
done
python3 - "$data" <<'END'
import json, os, subprocess, sys
data, lines = sys.argv[1], {}
files = []
for at, _, names in os.walk(data):
    for name in names:
        if name.endswith(".gcda"):
            notes = os.path.join("/", os.path.relpath(at, data), name[:-5] + ".gcno")
            os.symlink(notes, os.path.join(at, name[:-5] + ".gcno"))
            files.append(os.path.join(at, name))
for first in range(0, len(files), 100):
    said = subprocess.run(["gcov", "-j", "-t"] + files[first:first + 100], capture_output=True, text=True, cwd=data).stdout
    for one in said.splitlines():
        for file in json.loads(one)["files"] if one.startswith("{") else []:
            path = file["file"]
            for top in ("/src/", "/validate/"):
                if top in path and path.endswith(".c"):
                    name = top[1:] + path.split(top)[-1]
                    for line in file["lines"]:
                        at = lines.setdefault(name, {})
                        at[line["line_number"]] = at.get(line["line_number"], 0) + line["count"]
folders = {}
for name, of in lines.items():
    folder = os.path.dirname(name)
    ran, all_ = folders.get(folder, (0, 0))
    folders[folder] = (ran + sum(n > 0 for n in of.values()), all_ + len(of))
print("| folder | lines run | of |\n|---|--:|--:|")
for folder, (ran, all_) in sorted(folders.items()):
    if ran:
        print(f"| `{folder}` | {100 * ran / all_:.0f} % | {all_:,} |")
END
