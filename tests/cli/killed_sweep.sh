#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 9
# A sweep that is killed at forty random moments and resumed loses nothing and does nothing twice. A line on a terminal says how far it is. The commands of
# examples/kubernetes make the same shards as one machine.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1: $(head -n 5 err)"; fail=1; }
run() { "$FUSESIM" "$@" >out 2>err; }

# Killed forty times. The moments are random; so that each is within the work, another sweep begins where one is done.
many=(mlp --hw l4,t4 --over M=1:240)
run sweep "${many[@]}" -o all.csv --quiet || complain 'a long sweep'
kills=0 done=0
RANDOM=7
while [ $kills -lt 40 ] && [ $fail = 0 ]; do
    (exec "$FUSESIM" sweep "${many[@]}" --quiet -o killed.csv --resume >out 2>err) & at=$!
    sleep "0.0$((RANDOM % 70 + 10))"
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
touch killed.csv.$$.0.tmp killed.csv.1.7.tmp killed.csv.other.tmp killed.csvx.1.0.tmp # of a process that lives, of one of another machine; of no sweep
run sweep "${many[@]}" --quiet -o killed.csv --resume || complain 'resume after forty kills'
[ "$(ls killed.csv*tmp)" = "$(printf 'killed.csv.other.tmp\nkilled.csvx.1.0.tmp')" ] || complain "temporary files of killed sweeps stay: $(ls killed.csv*)"
rm killed.csv.other.tmp killed.csvx.1.0.tmp
cmp -s killed.csv all.csv || complain 'a sweep that was killed forty times differs'
[ -n "$(find . -name 'killed.csv?*')" ] && ls killed.csv.* | grep -qx killed.csv.part && complain 'kept points stay'

# How far it is, on a terminal, and nothing of it elsewhere.
"$PYTHON" - "$FUSESIM" <<'END' || complain 'the line on a terminal'
import os, pty, re, subprocess, sys, fcntl, termios, struct
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
with open("out", "w") as out:
    child = subprocess.Popen([sys.argv[1], "sweep", "bert_layer", "--hw", "l4,t4", "--over", "B=1:70", "--jobs", "1"], stdout=out, stderr=slave, env={**os.environ, "TERM": "xterm"})
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
done = [int(re.fullmatch(r"\d+ s, (\d+) of 140 points, [0-9.e+]+ a second, \d+ s left; Ctrl-C ends it", line)[1]) for line in shown]
assert done == sorted(done) and 0 < done[0] and done[-1] <= 140, done
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
