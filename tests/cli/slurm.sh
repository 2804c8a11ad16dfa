#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 8
# examples/slurm on a cluster of this one machine (Debian: slurm-wlm, munge): shards are killed and cancelled by requeue while they work, go on, and the merged result is byte for byte
# that of one machine. Input that is wrong is not tried again, and nothing is merged.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS SLURM_CONF ${!SBATCH_*} ${!SLURM_*}
for program in munged slurmctld slurmd sbatch scontrol squeue; do
    command -v $program >/dev/null || PATH=$PATH:/usr/sbin
    command -v $program >/dev/null || { echo "needs $program: Debian's slurm-wlm and munge"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo 'needs root, as which the daemons start tasks'; exit 77; }
fail=0
complain() { echo "FAILED: $1"; tail -n 5 ctld.log slurmd.log out/*.log; fail=1; }

# The daemons, with everything of theirs in this folder: no cluster that this machine may belong to is touched.
here=$PWD
socket=$(mktemp -d) # a socket's path is short
daemons=()
end() {
    for pid in "${daemons[@]}"; do kill "$pid" 2>end.err; done
    for pid in "${daemons[@]}"; do wait "$pid" 2>end.err; done
    rm -rf "$socket"
}
trap end EXIT
mkdir -p spool state out
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
munged --foreground --force --key-file="$here/munge.key" --socket="$socket/munge" --pid-file="$here/munge.pid" --log-file="$here/munge.log" \
    --seed-file="$here/munge.seed" >munged.out 2>&1 &
daemons+=($!)
port=$((20000 + $$ % 20000))
node=$(hostname -s)
cat >slurm.conf <<END
ClusterName=fusesim
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$socket/munge,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SlurmUser=root
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
SlurmctldPidFile=$here/ctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/ctld.log
SlurmdLogFile=$here/slurmd.log
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,default_queue_depth=100
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
KillWait=1
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(($(nproc) > 1 ? 2 : 1)) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$here/slurm.conf
slurmctld -D >ctld.out 2>&1 &
daemons+=($!)
slurmd -D -N "$node" >slurmd.out 2>&1 &
daemons+=($!)
for ((i = 0; i < 100; i++)); do
    [ "$(sinfo -h -o %T 2>sinfo.err)" = idle ] && break
    sleep 0.2
done
[ "$(sinfo -h -o %T 2>sinfo.err)" = idle ] || { echo "no Slurm of one node starts here: $(tail -n 2 ctld.log slurmd.log munge.log)"; exit 77; }

export FUSESIM SHARDS=6 OUT=$here/out RETRIES=9
many=(mlp --hw l4,t4 --over M=1:360)
submit() { "$SOURCE_DIR/examples/slurm/submit.sh" "$@" 2>err; }
# over SECONDS JOB: waits until no task of it is left
over() {
    for ((i = 0; i < 4 * $1; i++)); do
        [ -z "$(squeue -h -j "$2" 2>squeue.err)" ] && return
        sleep 0.3
    done
    complain "job $2 does not end: $(squeue)"
}
"$FUSESIM" sweep "${many[@]}" -o whole.csv --quiet >whole.txt || complain 'one machine'
read -r array merge < <(submit "${many[@]}") || complain "submit.sh: $(cat err)"

# While they work: shard 1 and 4 are killed as the kernel does when memory runs out, shard 2 is requeued by the administrator.
killed=' ' wanted=3
for ((i = 0; i < 600 && wanted; i++)); do
    for shard in 1 4; do
        [[ $killed != *" $shard "* ]] || continue
        pid=$(pgrep -f -- "--shard $shard/$SHARDS .*$here/out/$shard.shard" | head -n 1)
        if [ -n "$pid" ] && [ "$(grep -c '^[0-9]' "out/$shard.shard.part" 2>grep.err)" -gt 5 ] 2>grep.err && kill -9 "$pid" 2>kill.err; then
            killed="$killed$shard "
            wanted=$((wanted - 1))
        fi
    done
    if [[ $killed != *' 2 '* ]] && [ "$(grep -c '^[0-9]' out/2.shard.part 2>grep.err)" -gt 5 ] 2>grep.err && scontrol requeue "${array}_2" 2>requeue.err; then
        killed="${killed}2 "
        wanted=$((wanted - 1))
    fi
    [ $wanted = 0 ] && break
    sleep 0.05
done
[ "$wanted" = 0 ] || complain "not all were ended while they worked: $killed"
over 120 "$array"
over 60 "$merge"
cmp -s whole.csv out/points.csv || complain 'what was killed, requeued and merged differs from one machine'
for shard in 1 4; do grep -q "shard $shard of 6 ended with status 137: again" out/$shard.log || complain "shard $shard was not killed"; done
[ -z "$(find out -name '*.part*')" ] || complain "left: $(ls out)"

# The same again reads the shards that are done.
cp -p out/0.shard first.shard
read -r array merge < <(submit "${many[@]}")
over 60 "$array"
over 60 "$merge"
cmp -s whole.csv out/points.csv && cmp -s first.shard out/0.shard || complain 'the same array again'

# What is wrong ends at once, and the merge with it.
OUT=$here/wrong SHARDS=2
read -r array merge < <(submit mlp --hw l4 --over Q=1,2)
over 60 "$array"
over 60 "$merge"
grep -q "has no symbol 'Q'" wrong/0.log && [ "$(grep -c symbol wrong/0.log)" = 1 ] && [ ! -e wrong/points.csv ] || complain "wrong input: $(cat wrong/*.log)"
exit $fail
