#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 7
# What others' files may make the program do: rows of measurements open no file outside the folders that were named, and names carry no
# terminal escapes; what a full disk, a broken compiler, a signal or a second run beside it leave behind.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C FUSESIM_CACHE=
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 6 err >&2
    fail=1
}

# A signal that is ignored where this runs, as HUP below nohup, would stay ignored.
heeds=()
! env --default-signal=HUP true 2>/dev/null || heeds=(env --default-signal=HUP)

# Rows name their workload and their GPU. What they may not name is left out, unread.
mkdir -p below && printf 'secret: 42\n' >outside && mkfifo pipe.yaml
row() { printf 'id,hw,workload,set,strategy,l2,launch,time_s,source\na,%s,%s,,eager,warm,graph,1,x\n' "$1" "$2" >below/r.csv; }
for name in "$PWD/outside" ../outside below/../../outside - ../pipe; do
    for place in workload hw; do
        [ $place = hw ] && row "$name" mlp || row t4 "$name"
        (cd below && timeout 20 "$FUSESIM" validate --measurements r.csv </dev/null >../out 2>../err)
        [ $? = 66 ] && grep -q 'left out: a row names files in this folder' err || complain "$place '$name' in a row"
        ! grep -q secret err out || complain "$place '$name' in a row is shown"
    done
done
cp below/r.csv . && row t4 pipe && cp below/r.csv .
timeout 20 "$FUSESIM" validate --measurements r.csv >out 2>err
[ $? = 66 ] && grep -q 'no regular file' err || complain 'a row that names a pipe'
cp "$SOURCE_DIR/workloads/mlp.yaml" below/own.yaml
for name in own "$PWD/below/own.yaml"; do # what is below this folder is found
    row t4 "$name"
    (cd below && "$FUSESIM" validate --measurements r.csv >../out 2>../err) || complain "a row that names '$name'"
done

# Names that a terminal would obey, that turn the text around them, or that XML can't hold.
for name in '\e]0;x\a' '\x9b31m' 'a\u202eb' 'a\u2066b' '\ufffe' '\u200f'; do
    printf 'name: n\ntensors: {x: {shape: [8, 8], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: "%s"}\noutputs: [x]\n' "$name" >named.yaml
    "$FUSESIM" named.yaml --hw t4 >out 2>err
    [ $? = 65 ] && grep -Eq '^named.yaml:4:28: error: .* has the character U\+' err || complain "a name with $name"
    ! grep -aq "$(printf '\033')" err || complain 'the message has the escape'
done
for name in '\"q' 'b]]>' 'ü' "it's" '<b>' '=1+1' '$(id)' '%s%n'; do # and those that are only odd
    printf 'name: n\ntensors: {x: {shape: [1024, 1024], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: "%s"}\noutputs: ["%s"]\n' "$name" "$name" >named.yaml
    rm -f c.svg g.xml
    "$FUSESIM" named.yaml --hw t4 --gate time=1s --junit g.xml >out 2>err || complain "a workload with the name $name"
    python3 -c 'import sys, xml.dom.minidom as m; m.parse("g.xml")' 2>err || complain "JUnit with the name $name"
    if command -v gnuplot >/dev/null; then
        "$FUSESIM" named.yaml --hw t4 --chart c.svg >out 2>err && python3 -c 'import xml.dom.minidom as m; m.parse("c.svg")' 2>err || complain "a chart with the name $name"
    fi
done

# What is being written when a signal comes is deleted; so is what a process that is gone left, after an hour.
touch -d '2 hours ago' out.json.999999999.0.tmp && touch out.json.999999998.0.tmp kept.json.999999999.0.tmp
"$FUSESIM" mlp --hw t4 --json out.json >out 2>err || complain 'writing beside what others left'
[ ! -e out.json.999999999.0.tmp ] && [ -e out.json.999999998.0.tmp ] && [ -e kept.json.999999999.0.tmp ] || complain "left of dead processes: $(ls)"
rm -f ./*.tmp
if command -v gnuplot >/dev/null; then
    printf '#!/bin/sh\necho $PPID >ready\nexec sleep 20\n' >slow-gnuplot && chmod +x slow-gnuplot
    for signal in TERM HUP; do
        rm -f ready
        FUSESIM_GNUPLOT=$PWD/slow-gnuplot "${heeds[@]}" "$FUSESIM" mlp --hw t4 --json s.json --chart s.svg >/dev/null 2>err &
        pid=$!
        for i in $(seq 500); do [ -s ready ] && break; sleep 0.02; done
        ls ./*.tmp >/dev/null 2>&1 || complain "nothing is written when $signal comes"
        kill -$signal $pid
        wait $pid 2>/dev/null
        [ $? -gt 128 ] || complain "$signal does not end it"
        ! ls ./*.tmp >/dev/null 2>&1 || complain "$signal leaves $(ls ./*.tmp)"
        [ ! -e s.svg ] || complain "$signal leaves a chart"
    done
    # A drawing that is cut short is none, and the one from before stays.
    for part in '<?xml version="1.0"?><svg><g>' '%%PDF-1.5 x' '\211PNG\r\n x'; do
        printf '#!/bin/sh\nprintf '"'%s'"'\n' "$part" >cut-gnuplot && chmod +x cut-gnuplot && echo old >cut.svg
        FUSESIM_GNUPLOT=$PWD/cut-gnuplot "$FUSESIM" mlp --hw t4 --chart cut.svg >out 2>err
        [ $? != 0 ] && grep -q 'cut short' err && [ "$(cat cut.svg)" = old ] || complain "a drawing that is cut short: $part"
    done
    "$FUSESIM" mlp --hw t4 --chart closed.svg >out 2>err <&- && grep -q '</svg>' closed.svg || complain 'a chart where standard input is closed'
fi
"$FUSESIM" mlp --hw t4 2>err >&- && complain 'standard output is closed, and nothing is said'

# Two runs into one folder: the files are of one of them.
for run in 1 2 3; do
    rm -rf both
    "$FUSESIM" codegen seeds/chain4 --hw t4 --strategy eager -o both >out 2>err &
    "$FUSESIM" codegen seeds/softmax_primitive --hw t4 --strategy optimal -o both >out2 2>err2 || complain 'codegen beside another'
    wait $! || complain 'codegen beside another'
    grep -o '"[^"]*[.]cu"' both/manifest.json | tr -d '"' | sort -u >listed
    (cd both && ls ./*.cu | sed 's,^\./,,') | sort >there
    [ -s listed ] && [ -z "$(comm -23 listed there)" ] || complain "two runs of codegen: $(cat listed) in the manifest, $(cat there) there"
done
[ -z "$(find both -name '.codegen*')" ] || complain "codegen leaves $(find both -name '.codegen*')"

# Links in the folder lead nowhere: they are replaced, and what looks like a run that was killed is only deleted where it is a folder.
rm -rf both elsewhere && mkdir both elsewhere && echo mine >elsewhere/k0_x4.cu && cp elsewhere/k0_x4.cu elsewhere/Makefile
"$FUSESIM" codegen seeds/chain4 --hw t4 -o both >out 2>err && mv both/Makefile elsewhere/old && ln -s ../elsewhere/Makefile both/Makefile
for name in both/*.cu; do echo mine >"elsewhere/${name#both/}"; done
ln -s ../elsewhere both/.codegen.999999999.tmp
"$FUSESIM" codegen seeds/chain4 --hw t4 -o both >out 2>err
kept=$(cat elsewhere/*.cu elsewhere/Makefile | sort -u)
[ "$kept" = mine ] || complain "codegen follows links: $kept, $(head -n 2 err)"

# A pipe that has the manifest's name is no manifest: nobody waits for it.
mkdir -p piped && mkfifo piped/manifest.json
timeout 20 "$FUSESIM" codegen seeds/chain4 --hw t4 -o piped >out 2>err
[ $? = 2 ] && grep -q "holds files that fusesim did not write: 'manifest.json'" err || complain "a pipe as manifest.json: $(head -c 300 err)"

# Extremes of inputs and surroundings (bench/extremes.sh has more): each ends by itself, with a message where it fails.
printf 'tensors: {x0: {shape: [64, 64], dtype: f16}}\noperators:\n  - repeat: 1000000\n    carry: {x0: y}\n    operators: [{op: relu, in: x0, out: y}]\n' >repeat.yaml
timeout 20 "$FUSESIM" repeat.yaml --hw t4 >out 2>err
[ $? = 65 ] && grep -q '^repeat.yaml:3:3: error: 1000000 operators with repeat blocks unrolled; at most 262144' err || complain 'repeat: 1000000'
timeout 30 "$FUSESIM" mlp --hw /dev/zero >out 2>err
[ $? = 66 ] && grep -q "'/dev/zero': larger than 64 MiB" err || complain 'hardware /dev/zero'
"$FUSESIM" seeds/chain4 --hw t4 >want || complain 'a plan'
env -i "$FUSESIM" seeds/chain4 --hw t4 >out 2>err && cmp -s want out || complain 'no environment'
if ! grep -q __asan_init "$FUSESIM"; then # the sanitizer maps terabytes
    (ulimit -v 524288 && exec "$FUSESIM" seeds/chain4 --hw t4) >out 2>err && cmp -s want out || complain 'RLIMIT_AS of 512 MB'
fi

# An expression of 100 kB is not repeated.
printf 'tensors:\n  x: {shape: ["%s*"], dtype: f32}\noperators:\n  - {op: exp, in: x, out: y}\noutputs: [y]\n' "$(printf '1 + %.0s' {1..25000})" >long.yaml
"$FUSESIM" long.yaml --hw t4 >out 2>err
[ $? = 65 ] && [ "$(wc -c <err)" -lt 3000 ] && grep -q 'bytes left out' err || complain "an expression of 100 kB: $(wc -c <err) bytes of messages"

# A machine that cannot compile is no kernel that computes wrong results.
compiles() {
    "$FUSESIM" validate seeds/tanh_axpb --set M=64 --device cpu --hw t4 --no-measure --strategies optimal >out 2>err
    [ $? = 69 ] && grep -q 'could not be compiled on this machine' err || complain "$1"
}
if command -v gcc >/dev/null; then
    printf '#!/bin/sh\ncase "$*" in *-shared*) echo "ld: cannot" >&2; exit 1;; esac\nexec gcc "$@"\n' >broken-cc && chmod +x broken-cc
    CC=$PWD/broken-cc compiles 'a linker that fails'
    printf '#!/bin/sh\ncase "$*" in *text_* | *k0*) kill -9 $$;; esac\nexec gcc "$@"\n' >broken-cc
    CC=$PWD/broken-cc compiles 'a compiler that is killed'
    printf '#!/bin/sh\ncase "$*" in *-shared*text_* | *-shared*k0*) for a; do case $last in -o) echo none >"$a";; esac; last=$a; done; exit 0;; esac\nexec gcc "$@"\n' >broken-cc
    CC=$PWD/broken-cc compiles 'a library that is none'

    # Kernels and compilers run beside the program: one that crashes or does not end is named, and nothing stays behind.
    rm -rf temporary && mkdir temporary
    export TMPDIR=$PWD/temporary
    # runs STATUS WORDS SECONDS: validate with broken-cc ends so, and says it.
    runs() {
        rm -f t.json
        CC=$PWD/broken-cc FUSESIM_CPU_LIMIT=$3 timeout 60 "$FUSESIM" validate seeds/tanh_axpb --set M=64 --device cpu --hw t4 --no-measure --strategies optimal --json t.json >out 2>err
        [ $? = "$1" ] && grep -Eq "^fusesim: error: $2" err || complain "$2"
        [ -z "$(ls temporary)" ] && [ -z "$(ls t.json* 2>/dev/null)" ] || complain "left behind: $2: $(ls temporary t.json*)"
    }
    printf '#!/bin/sh\nfor a; do case $a in *.c) sed -i "s/FS_BLOCKS(/%s FS_BLOCKS(/" "$a";; esac; done\nexec gcc "$@"\n' '__builtin_trap();' >broken-cc
    runs 70 'kernel k0_y crashed: Illegal instruction' 60
    sed -i 's/__builtin_trap();/extern int raise(int); raise(9);/' broken-cc # no handler of the process that is killed deletes anything
    runs 70 'kernel k0_y crashed: Killed' 60
    sed -i 's/extern int raise(int); raise(9);/for (volatile int i = 0; ; i = 1);/' broken-cc
    runs 70 'kernel k0_y does not end in 4 s' 4
    printf '#!/bin/sh\ncase "$*" in *-shared*text_* | *-shared*k0*) sleep 50 & wait;; esac\nexec gcc "$@"\n' >broken-cc
    runs 69 'a compiler does not end in 2 s' 2
    for signal in TERM HUP; do
        CC=$PWD/broken-cc "${heeds[@]}" "$FUSESIM" validate seeds/tanh_axpb --set M=64 --device cpu --hw t4 --no-measure --json t.json >out 2>err &
        pid=$!
        for i in $(seq 500); do ls temporary/*/text_0.log >/dev/null 2>&1 && break; sleep 0.02; done
        kill -$signal $pid
        wait $pid 2>/dev/null
        ended=$?
        [ $ended = $((128 + $(kill -l $signal))) ] && [ -z "$(ls temporary)" ] && [ -z "$(ls t.json* 2>/dev/null)" ] || complain "$signal while a kernel is compiled: $ended, $(ls temporary)"
    done
    mkdir -p temporary/fusesim-999999999-abcdef temporary/fusesim-999999998-abcdef temporary/fusesim-mine
    touch -d '2 hours ago' temporary/fusesim-999999999-abcdef temporary/fusesim-mine
    "$FUSESIM" validate seeds/tanh_axpb --set M=64 --device cpu --hw t4 --no-measure >out 2>err || complain 'validate beside what others left'
    [ "$(ls temporary)" = "$(printf 'fusesim-999999998-abcdef\nfusesim-mine')" ] || complain "temporary folders: $(ls temporary)"
    TMPDIR=$PWD/none "$FUSESIM" validate seeds/tanh_axpb --set M=64 --device cpu --hw t4 --no-measure >out 2>err
    [ $? = 69 ] && grep -q "no temporary folder in '.*none': No such file" err || complain 'TMPDIR is not there'
    unset TMPDIR
fi
exit $fail
