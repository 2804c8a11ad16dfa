#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# codegen: folders that stand by themselves. C: built, run, and what the outputs are must not depend on the partition. CUDA: as text; codegen_cuda.sh builds it. The manifest, what
# is said, what goes wrong.
# depends: once cost: 10
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset NO_COLOR FUSESIM_HWMODELS MAKEFLAGS MAKELEVEL CFLAGS NVCCFLAGS ARCH
export COLUMNS=80
cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null && command -v make >/dev/null || { echo 'needs a C compiler and make'; exit 77; }
"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || { echo "needs Python's jsonschema"; exit 77; }
fail=0
complain() { echo "FAILED: $1"; fail=1; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 40 "$1")"; }
# generates FOLDER ARGUMENT...
generates() {
    local folder=$1
    shift
    "$FUSESIM" codegen "$@" -o "$folder" >"$folder.out" 2>"$folder.err" || complain "exit status $?: codegen $* -o $folder: $(cat "$folder.err")"
    [ ! -s "$folder.err" ] || complain "something on stderr: codegen $*: $(cat "$folder.err")"
    [ "$(awk 'length > n { n = length } END { print n + 0 }' "$folder.out")" -le 80 ] || complain "wider than 80: $(cat "$folder.out")"
}
# exits STATUS PATTERN ARGUMENT...
exits() {
    local wanted=$1 pattern=$2 status=0
    shift 2
    "$FUSESIM" codegen "$@" >out 2>err </dev/null || status=$?
    [ $status = "$wanted" ] || complain "exit status $status, wanted $wanted: codegen $*: $(cat err)"
    [ ! -s out ] || complain "something on stdout: codegen $*"
    grep -Eq -- "$pattern" err || complain "no '$pattern': codegen $*: $(cat err)"
}

# C: a layer and several ideas, each partition built and run.
builds() {
    make -s -j2 -C "$1" CC="$cc" CFLAGS="-O0 -fopenmp-simd" >"$1.make" 2>&1 || { complain "$1 does not build: $(tail -n 20 "$1.make")"; return; }
    (cd "$1" && timeout 120 ./launcher --runs 2) >"$1.run" 2>&1 || complain "$1 does not run: $(cat "$1.run")"
}
folders=
compares() { # NAME STRATEGIES WORKLOAD OPTION...
    local name=$1 strategies=$2 strategy
    shift 2
    for strategy in optimal $strategies; do
        generates "$name.$strategy" "$@" --hw t4 --target c --strategy $strategy
        builds "$name.$strategy"
        folders="$folders $name.$strategy"
    done
}
compares layer 'eager inductor maximal' bert_layer --scale-shapes 32
compares mlp 'eager maximal' mlp --set M=24 --set H=32 --set dtype=f32
compares rows 'eager maximal' seeds/attn_out_residual_ln --scale-shapes 64
compares softmax eager seeds/softmax_primitive --scale-shapes 64
compares shared maximal seeds/two_consumers --scale-shapes 256
compares opaque eager seeds/boundaries --scale-shapes 64
for strategy in eager inductor; do
    tr '\n' ' ' <layer.$strategy.out | grep -q "Only the partition is that of $strategy: the kernels, and what is predicted of them, are fusesim's own\." || complain "$strategy: whose kernels?"
done
grep -q 'Only the partition' layer.optimal.out && complain 'optimal has kernels of its own'
has opaque.optimal.out "^  k[0-9]+_sorted: sort is opaque"
has opaque.optimal/launcher.c 'Not generated: k[0-9]+_sorted: sort is opaque'
has opaque.optimal.run '^k[0-9]+_sorted +not generated: sort is opaque'

# Sources that people can read, and what the launcher says of them.
# shellcheck disable=SC2086,SC2046
awk '
    function ended() { for (word in want) if (!(word in said)) print path ": no " word " in its header" }
    BEGIN {
        want["template"] = "^ [*] template"; want["operators"] = "^ [*] operators"; want["arguments"] = "^ [*] arguments"
        want["predicted"] = "^ [*] predicted .* DRAM: .* read, .* written"; want["launch"] = "^ [*] launch .*arguments[)]"
    }
    FNR == 1 {
        if (path) ended()
        path = name = FILENAME
        gsub(/.*\/|[.]c$/, "", name)
        if (index($0, "/* " name ": kernel ") != 1 || $0 !~ /: kernel [0-9]+ of [0-9]+ of /) print path ": no header"
        split("", said)
        head = 1
    }
    head { for (word in want) if ($0 ~ want[word]) said[word] = 1; if (/[*]\//) head = 0 }
    length > 180 { print path " has a line of more than 180 characters" }
    END { ended() }' $(printf '%s/k*.c ' $folders) >lacking || complain 'the headers of sources'
[ ! -s lacking ] || complain "$(cat lacking)"
for folder in $folders; do
    for source in "$folder"/k*.c; do [ -e "${source%.c}.o" ] || complain "$source is not in the Makefile"; done
    [ "$(awk 'length > n { n = length } END { print n }' "$folder.run")" -le 110 ] || complain "$folder.run is too wide"
done
has mlp.optimal.run '^median of 2 runs, caches flushed before each; predicted without launches;$'
has mlp.optimal.run '^kernel +measured +predicted +DRAM +GB/s$'
has mlp.optimal.run '^y +f32 +768 +-?[0-9.]+e[+-][0-9]+ +[0-9.]+e[+-][0-9]+ [0-9a-f]{8}$'

# The launcher's options.
kernel=$(cd mlp.eager && ls k1_*.c) && kernel=${kernel%.c}
(cd mlp.eager && ./launcher --runs 1 --kernel "$kernel" --dump x ../x.bin --dump y ../y.bin --threads 2 --warm) >one.run || complain 'launcher --kernel --dump --threads --warm'
has one.run "^$kernel "
has one.run 'caches left as they are'
has one.run 'this CPU, 2 threads'
grep -q '^k0_' one.run && complain '--kernel times others too'
(cd mlp.eager && ./launcher --runs 1 --threads 3) | grep '^y ' >three
grep '^y ' mlp.eager.run | cmp -s - three || complain 'the number of threads changes the result'
for wrong in '--kernel nobody' '--dump nobody x' '--runs 0' '--nonsense'; do
    (cd mlp.eager && ./launcher $wrong) >out 2>err
    [ $? = 2 ] || complain "launcher $wrong"
done
(cd mlp.eager && ./launcher --list) >out || complain 'launcher --list'
has out '^y: output, f32 \[24, 32\], 3072 bytes$'

# The same plan without and with other files in the folder, twice the same bytes; kernels of an earlier plan go, everything else stays.
generates again mlp --set M=24 --set H=32 --set dtype=f32 --hw t4 --target c
for file in again/*; do cmp -s "$file" "mlp.optimal/$(basename "$file")" || complain "$file is not what it was"; done
[ "$(ls -A again | wc -l)" = "$("$python" -c 'import json; print(len(json.load(open("again/manifest.json"))["files"]))')" ] || complain "the manifest does not list $(ls -A again)"
echo mine >again/k9_mine.c
echo mine >again/notes.txt
generates again seeds/chain4 --hw t4 --strategy maximal
[ "$(cat again/k9_mine.c again/notes.txt)" = "$(printf 'mine\nmine')" ] || complain 'files of others are gone'
[ "$(ls again/k*.c again/launcher.c 2>/dev/null)" = again/k9_mine.c ] || complain "kernels of an earlier run stay: $(ls again)"
has again.out '^Removed, as this plan has no such kernel: .*k[0-9]+_'
ls again/k0_*.cu again/launcher.cu >/dev/null || complain 'no CUDA'

# Which plan.
generates strict seeds/softmax_primitive --hw t4 --target c --numerics strict --scale-shapes 64
has strict/manifest.json '"numerics": "strict"'
echo '[[a, m], [r, y]]' >plan.json
generates given seeds/chain4 --hw t4 --target c --plan plan.json --set dtype=f64
has given/manifest.json '"strategy": "file"'
[ "$(ls given/k*.c | wc -l)" = 2 ] || complain "--plan: $(ls given)"
generates given2 seeds/chain4 --hw t4 --target c --plan given/manifest.json --set dtype=f64
cmp -s given/k0_m.c given2/k0_m.c || complain 'a manifest is no plan'

# Names that mean something to C, to a shell and to make; of a length that no file name may have.
"$python" - >names.yaml <<'END'
long = "y " + "and on " * 60
print('name: "ev*/il \\"q\\" ???/ \u00e9"\ntensors: {"x*/": {shape: [64, 32], dtype: f32}, "w?? $(\\"\\\\": {shape: [64, 32], dtype: f32}}')
print('operators:\n  - {op: add, in: ["x*/", "w?? $(\\"\\\\"], out: "%s"}' % long)
END
for target in c cuda; do generates names.$target names.yaml --hw t4 --target $target; done
builds names.c
grep -q 'not finite' names.c.run && complain 'names.c.run: not finite'
"$FUSESIM" codegen mlp --hw mi300x -o amd >out 2>err || complain 'another GPU'
has err "warning: mi300x is gfx942, which does not run CUDA"

# For programs.
"$FUSESIM" codegen mlp --hw t4 --target c -o json --json - >json.out 2>err || complain "--json -: $(cat err)"
cmp -s json.out json/manifest.json || complain '--json - is not the manifest'
"$FUSESIM" codegen mlp --hw t4 --target c -o json --json json.file >json.out 2>err || complain "--json FILE: $(cat err)"
cmp -s json.file json/manifest.json || complain '--json FILE is not the manifest'
has json.out '^ +file +template'

# Mistakes, of which nothing is left.
exits 2 'codegen wants -o DIR' mlp --hw t4
echo mine >notes
exits 2 "'notes' is a file; codegen writes a folder" mlp --hw t4 -o notes
exits 2 "cannot make folder 'nowhere/gen': no such folder" mlp --hw t4 -o nowhere/gen
exits 2 "cannot make folder 'notes/gen'" mlp --hw t4 -o notes/gen
exits 2 'codegen writes a folder, not stdout' mlp --hw t4 -o -
exits 2 "unknown value 'ptx'.*wanted cuda, c" mlp --hw t4 -o gen --target ptx
exits 2 'codegen takes one GPU' mlp --hw t4,l4 -o gen
exits 66 'cannot read workload' nobody --hw t4 -o gen
exits 65 "no symbol 'Q'" mlp --hw t4 -o gen --set Q=1
exits 2 'cannot write' mlp --hw t4 -o gen --json nowhere/x.json
generates taken mlp --hw t4 --strategy eager
rm taken/k0_h.cu && mkdir taken/k0_h.cu && ls -A taken >before
exits 70 "cannot write 'taken/k0_h.cu': is a directory" mlp --hw t4 --strategy eager -o taken
ls -A taken | cmp -s - before || complain "left behind: $(ls -A taken)"
rm -r taken

# Files of others are never overwritten: a folder that has any is refused, unless an earlier run wrote there; then only what would be overwritten counts.
mkdir theirs && echo mine >theirs/Makefile && echo mine >theirs/launcher.cu && cp -r theirs theirs.before
exits 2 "'theirs' holds files that fusesim did not write: 'Makefile', 'launcher.cu'; name an empty folder" mlp --hw t4 -o theirs
exits 2 "'theirs/' holds files" mlp --hw t4 -o theirs/
diff -r theirs theirs.before >/dev/null || complain "files of others were changed: $(ls theirs)"
mkdir many && touch many/{a,b,c,d,e,f,g} many/.hidden
exits 2 "'a', 'b', 'c', 'd', 'e' and 2 more; " mlp --hw t4 -o many
mkdir other && echo '{"files": ["k0_h.cu"]}' >other/manifest.json && echo mine >other/k0_h.cu # another program's manifest
exits 2 "'other' holds files that fusesim did not write: 'k0_h.cu', 'manifest.json'" mlp --hw t4 -o other
[ "$(cat other/k0_h.cu)" = mine ] && rm -r other || complain "files of others were changed: $(ls other)"
mkdir hidden && touch hidden/.gitignore
generates hidden mlp --hw t4
rm hidden/manifest.json
generates hidden mlp --hw t4 # without its manifest: each file says that fusesim wrote it
generates ran mlp --hw t4 --target c --set M=24 --set H=32 --set dtype=f32
touch ran/launcher ran/launcher.o ran/k0_h.o ran/notes.txt
sed -i 's/"files": \[/"files": ["notes.txt", /' ran/manifest.json # only kernels and launchers that a manifest lists are ever removed
generates ran mlp --hw t4 --target c --set M=24 --set H=32 --set dtype=f32
[ -e ran/notes.txt ] || complain 'a file that no run wrote was removed'
echo mine >ran/k0_a.cu && echo mine >ran/k0_m.cu && echo mine >ran/launcher.cu && cp -r ran ran.before
exits 2 "'ran' holds files that fusesim did not write: 'k0_[am].cu', 'launcher.cu'" seeds/chain4 --hw t4 --plan plan.json -o ran --json ran.json
diff -r ran ran.before >/dev/null && [ ! -e ran.json ] || complain "files of others were changed: $(ls ran)"
rm ran/k0_*.cu ran/launcher.cu && ln -s nowhere ran/launcher.cu
exits 2 "'ran' holds files that fusesim did not write: 'launcher.cu'" seeds/chain4 --hw t4 --plan plan.json -o ran
[ -L ran/launcher.cu ] || complain 'a link that leads nowhere was replaced'
if [ "$(id -u)" != 0 ]; then
    mkdir shut && chmod 555 shut
    exits 2 "cannot write into 'shut': permission denied" mlp --hw t4 -o shut
    exits 2 "cannot make folder 'shut/gen': permission denied" mlp --hw t4 -o shut/gen
fi
[ ! -e gen ] || complain "left behind: $(ls -A gen)"
[ -z "$(find . -name '*.tmp')" ] || complain "left behind: $(find . -name '*.tmp')"
[ "$(cat notes)" = mine ] || complain 'a file was overwritten'

# Outputs of all partitions, inputs by the rule that the launcher states, manifests by their schema.
SCHEMA=$SOURCE_DIR/reports/schema/manifest.schema.json "$python" - <<'END' || fail=1
import glob, json, os, struct, sys
import jsonschema
bad = 0
def complain(what):
    global bad
    bad += 1
    print("FAILED:", what)

with open(os.environ["SCHEMA"]) as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
schema = jsonschema.Draft202012Validator(schema)
manifests = sorted(glob.glob("*/manifest.json"))
for path in manifests:
    folder = os.path.dirname(path)
    with open(path) as file:
        m = json.load(file)
    for error in list(schema.iter_errors(m))[:3]:
        complain(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    for name in m["files"]:
        if not os.path.isfile(os.path.join(folder, name)): complain(f"{path} lists {name}")
    if [k["file"] for k in m["kernels"] if k["file"]] != [f for f in m["files"] if f[0] == "k"]: complain(f"{path}: files of kernels")
    if m["dram_read_bytes"] != sum(k["dram_read_bytes"] for k in m["kernels"]): complain(f"{path}: bytes read")
    if m["predicted_s"] < sum(k["predicted_s"] for k in m["kernels"]): complain(f"{path}: launches take no time")
    made = set()
    for k in m["kernels"]:
        for a in k["arguments"]:
            if a["role"] in ("input", "weight") and a["written"]: complain(f"{path}: {k['name']} writes an input")
            if a["role"] in ("output", "intermediate") and not a["written"] and a["tensor"] not in made: complain(f"{path}: {k['name']} reads {a['tensor']}, which is not there yet")
            if a["written"]: made.add(a["tensor"])
for change in ({"schema": 2}, {"target": "ptx"}, {"kernels": []}, {"kernels": [{**m["kernels"][0], "skipped": "x"}]}):
    if schema.is_valid({**m, **change}): complain(f"manifest.schema.json accepts {change}")

def outputs(path):
    rows, inside = {}, False
    with open(path) as file:
        for line in file:
            word = line.split()
            if inside and len(word) == 6: rows[word[0]] = (word[1], int(word[2]), float(word[3]), float(word[4]))
            if "not finite" in line: complain(f"{path}: {line.strip()}")
            inside = inside or word[:2] == ["output", "type"]
    return rows
compared = 0
limit = {"f64": 1e-9, "f32": 1e-4, "f16": 1e-2}
for path in sorted(glob.glob("*.optimal.run")):
    name = path.split(".")[0]
    wanted = outputs(path)
    if not wanted: complain(f"{path}: no outputs")
    for other in sorted(glob.glob(f"{name}.*.run")):
        compared += 1
        if outputs(other).keys() != wanted.keys(): complain(f"{other}: other outputs")
        for y, got in outputs(other).items():
            most = limit.get(got[0], 0) * wanted[y][3]
            if got[:2] != wanted[y][:2] or abs(got[2] - wanted[y][2]) > most or abs(got[3] - wanted[y][3]) > most or got[3] == 0:
                complain(f"{other}: {y} is {got}, optimal makes {wanted[y]}")

M = (1 << 64) - 1
def mixed(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
    z = (z ^ z >> 27) * 0x94d049bb133111eb & M
    return z ^ z >> 31
def element(name, i, low, high):
    h = 0xcbf29ce484222325
    for c in name.encode(): h = (h ^ c) * 0x100000001b3 & M
    u = (mixed(mixed(h + 0x9e3779b97f4a7c15 & M) + (i + 1) * 0x9e3779b97f4a7c15 & M) >> 11) / 2 ** 53
    return struct.unpack("f", struct.pack("f", low + (high - low) * u))[0]
x = struct.unpack("768f", open("x.bin", "rb").read())
if any(abs(x[i] - element("x", i, -1, 1)) > 1e-6 for i in range(768)): complain("x is not filled as the launcher says")
if os.path.getsize("y.bin") != 3072: complain("--dump y")
print(f"{len(manifests)} manifests, outputs of {compared} runs")
sys.exit(bad > 0)
END

# Lengths that do not fit each other when divided: 320 channels by 16 are 20, and 32 groups are 8 at the shortest; by 8 they are 40.
printf 'tensors: {x: {shape: [8, 320, 64, 64], dtype: f32}}\noperators: [{op: group_norm, in: x, out: y, groups: 32}]\n' >groups.yaml
exits 65 "groups.yaml: error: --scale-shapes 16: the divided lengths do not fit each other \\(group_norm 'y': .* does not divide into 8 groups of channels\\); --scale-shapes 8 works" groups.yaml --hw host --target c --scale-shapes 16 -o groups
generates groups groups.yaml --hw host --target c --scale-shapes 8

# CUDA.
generates cuda bert_layer --hw h100-sxm5-80gb
generates cuda.eager mlp --hw t4 --strategy eager
has cuda/Makefile '^ARCH \?= sm_90a$'
has cuda.eager/Makefile '^ARCH \?= sm_75$'
for folder in cuda cuda.eager; do
    for source in $folder/k*.cu; do
        [ "$(awk 'length > n { n = length } END { print n }' "$source")" -le 180 ] || complain "$source has a line of more than 180 characters"
        has "$source" '^ \* launch +k[0-9]+_[A-Za-z0-9_]+<<<[0-9]+, [0-9]+, [0-9]+>>>'
    done
done
exit $fail
