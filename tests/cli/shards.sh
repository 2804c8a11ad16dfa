#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: memory
# cost: 15
# sweep --shard and merge: the result of one machine, to the byte; what is not all of one sweep is refused. A sweep that is killed at a hundred random moments and resumed loses
# nothing and does nothing twice. A line on a terminal says how far it is. The commands of examples/kubernetes make the same shards.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1: $(head -n 5 err)"; fail=1; }
points=(mlp --hw l4,t4 --over M=1:40 --over H=M*16,7 --over strategy=eager,optimal)
run() { "$FUSESIM" "$@" >out 2>err; }

# One machine and several.
run sweep "${points[@]}" -o whole.csv --json whole.json --find M --under time=60us || complain 'a sweep'
mv out whole.txt
run sweep "${points[@]}" -o whole.jsonl --quiet || complain 'JSON lines'
for n in 1 3 7; do
    for ((i = 0; i < n; i++)); do
        run sweep "${points[@]}" --shard $i/$n -o $n.$i --jobs $((1 + i % 2)) || complain "shard $i/$n"
    done
    files=$(ls $n.* | sort -R --random-source=<(yes))
    run merge $files -o merged.csv --json merged.json --find M --under time=60us || complain "merge of $n"
    cmp -s whole.csv merged.csv && cmp -s whole.json merged.json && cmp -s whole.txt out || complain "$n shards merged differ from one machine"
    run merge $files -o merged.jsonl --quiet && cmp -s whole.jsonl merged.jsonl || complain "$n shards as JSON lines"
done
[ "$(cat 7.? | grep -c '^[0-9]')" = 320 ] || complain 'shards do not share the points out'
cp 3.1 again
run sweep "${points[@]}" --shard 1/3 -o 3.1 --jobs 4 --quiet && cmp -s 3.1 again || complain 'a shard from other threads'
touch -d yesterday again && cp -p again 3.1
run sweep "${points[@]}" --shard 1/3 -o 3.1 --resume --quiet && cmp -s 3.1 again && [ ! -e 3.1.part ] || complain 'a shard that is done'
run sweep mlp --hw t4 --over M=1,2 --shard 4/5 -o empty && grep -q ': 0 points' out || complain 'a shard without points'

# merge_refuses STATUS TEXT FILE...
merge_refuses() {
    local status=$1 text=$2
    shift 2
    rm -f none.csv
    run merge "$@" -o none.csv
    [ $? = "$status" ] && grep -q -- "$text" err && [ ! -s out ] && [ ! -e none.csv ] || complain "merge $*: wanted $status and '$text'"
}
merge_refuses 2 'merge wants the files'
merge_refuses 66 'no such file' absent
merge_refuses 65 '^3.0:1:1: error: of 3 shards these are missing: 1, 2' 3.0
merge_refuses 65 "^again:1:1: error: shard 1 of 3 again, as '3.1'" 3.0 3.1 3.2 again
merge_refuses 65 "^7.1:1:1: error: of another sweep than '3.0', or of another number" 3.0 7.1
run sweep "${points[@]}" --hw-set sms=20 --shard 1/3 -o other --quiet
merge_refuses 65 '^other:1:1: error: of another sweep' 3.0 other 3.2
merge_refuses 65 "^whole.csv:1:1: error: not written by 'fusesim sweep --shard'" whole.csv
head -n -1 3.1 >short && merge_refuses 65 '^short:.*the shard is not whole' 3.0 short 3.2
sed '15d' 3.1 >short && merge_refuses 65 '^short:.*not as many points as it says' 3.0 short 3.2
sed '15{p}' 3.1 >twice && merge_refuses 65 '^twice:16:1: error: no point of this shard, or one that comes twice' 3.0 twice 3.2
sed '15s/^[0-9]*/1/' 3.1 >moved && merge_refuses 65 '^moved:15:1: error: no point of this shard' 3.0 moved 3.2
sed '3d' 3.1 >headless && merge_refuses 65 '^headless:.*not written by' headless 3.0 3.2
sed 's/^strategy,.*/strategy,best/' 3.1 >odd && merge_refuses 65 'no such strategy' odd
head -n 2 3.1 >headless && merge_refuses 65 "not written by" headless
merge_refuses 2 "no --over varies 'N'" 3.0 3.1 3.2 --find N --under fits

# Killed a hundred times. The moments are random; so that each is within the work, another sweep begins where one is done.
many=(mlp --hw l4,t4 --over M=1:400)
run sweep "${many[@]}" -o all.csv --quiet || complain 'a long sweep'
kills=0 done=0
RANDOM=7
while [ $kills -lt 100 ] && [ $fail = 0 ]; do
    (exec "$FUSESIM" sweep "${many[@]}" --quiet -o killed.csv --resume >out 2>err) & at=$!
    sleep "0.0$((RANDOM % 90 + 10))"
    if kill -9 $at 2>kill.err; then kills=$((kills + 1)); fi
    wait $at 2>kill.err
    if [ -e killed.csv ]; then
        cmp -s killed.csv all.csv || complain "after $kills kills the sweep differs"
        rm -f killed.csv killed.csv.part
        done=$((done + 1))
    elif [ -e killed.csv.part ]; then
        [ -z "$(grep -a '^[0-9]*,' killed.csv.part | cut -d , -f 1 | sort | uniq -d)" ] || complain "after $kills kills a point is there twice"
    fi
done
run sweep "${many[@]}" --quiet -o killed.csv --resume || complain 'resume after a hundred kills'
cmp -s killed.csv all.csv || complain 'a sweep that was killed a hundred times differs'
[ -n "$(find . -name 'killed.csv?*')" ] && ls killed.csv.* | grep -qx killed.csv.part && complain 'kept points stay'

# How far it is, on a terminal, and nothing of it elsewhere.
"$PYTHON" - "$FUSESIM" <<'END' || complain 'the line on a terminal'
import os, pty, re, subprocess, sys, fcntl, termios, struct
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
with open("out", "w") as out:
    child = subprocess.Popen([sys.argv[1], "sweep", "bert_layer", "--hw", "l4,t4", "--over", "B=1:150", "--jobs", "1"], stdout=out, stderr=slave, env={**os.environ, "TERM": "xterm"})
os.close(slave)
said = b""
while True:
    try:
        more = os.read(master, 65536)
    except OSError:
        break
    if not more:
        break
    said += more
assert child.wait() == 0
shown = [line for line in said.decode().split("\r\033[K") if line]
assert shown and said.endswith(b"\r\033[K"), said[-200:]
done = [int(re.fullmatch(r"\d+ s, (\d+) of 300 points, [0-9.e+]+ a second, \d+ s left; Ctrl-C ends it", line)[1]) for line in shown]
assert done == sorted(done) and 0 < done[0] and done[-1] <= 300, done
END

# What a pod of examples/kubernetes runs, with the index that the cluster gives it.
yaml=$SOURCE_DIR/examples/kubernetes
awk '/>-$/ { on = 1; next } on && /resources:/ { exit } on' "$yaml/sweep.yaml" | tr '\n' ' ' | sed "s|/out/|$PWD/k8s/|g" >sweep.command
sed -n "s|.*/bin/sh, -c, '\(.*\)'\]|\1|p" "$yaml/merge.yaml" | sed "s|/out/|$PWD/k8s/|g" >merge.command
mkdir k8s
shards=$(sed -n 's/^  completions: \([0-9]*\).*/\1/p' "$yaml/sweep.yaml")
for ((i = 0; i < shards; i++)); do JOB_COMPLETION_INDEX=$i FUSESIM=$FUSESIM sh -c "$(cat sweep.command)" >out 2>err || complain "the command of pod $i"; done
FUSESIM=$FUSESIM sh -c "$(cat merge.command)" >out 2>err || complain 'the command that merges'
run sweep mlp --hw l4,t4 --over M=1:64 -o k8s.csv --quiet && cmp -s k8s.csv k8s/points.csv || complain 'pods make other points'
"$PYTHON" - "$yaml" <<'END' || complain 'the jobs as YAML'
import sys
try:
    import yaml
except ImportError:
    sys.exit(0)
job = yaml.safe_load(open(sys.argv[1] + "/sweep.yaml"))["spec"]
pod = job["template"]["spec"]
assert job["completionMode"] == "Indexed" and f"/{job['completions']}\"" in pod["containers"][0]["command"][2] and job["backoffLimitPerIndex"] > 0
assert pod["restartPolicy"] == "Never" and pod["containers"][0]["name"] == job["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"]
yaml.safe_load(open(sys.argv[1] + "/merge.yaml"))
END
exit $fail
