#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sweep on a Slurm cluster: a job array of shards, and behind it a job that merges them.
#
#   SHARDS=64 OUT=/shared/run1 examples/slurm/submit.sh bert_layer --hw l4,h100-sxm5-80gb --over B=1:512 --over S=128:4096:x2
#
# SHARDS      parts (16); each should take a minute at least, since starting a task takes seconds
# OUT         a folder that all nodes see: shards, logs, and points.csv in the end
# RETRIES     how often a task that was killed goes on again (3)
# SBATCH_...  sbatch's own variables, as SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT
#
# The same command again goes on: shards that are done are read, not planned again. Prints the numbers of both jobs.
set -eu
: "${OUT:?a folder that all nodes see}"
here=$(dirname "$(readlink -f -- "$0")")
shards=${SHARDS:-16}
mkdir -p "$OUT"
array=$(sbatch --parsable --array="0-$((shards - 1))" --output="$OUT/%a.log" \
    --export=ALL,OUT="$OUT",SHARDS="$shards",RETRIES="${RETRIES:-3}" "$here/sweep.sbatch" "$@")
merge=$(sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes --output="$OUT/merge.log" \
    --export=ALL,OUT="$OUT" "$here/merge.sbatch")
echo "$array $merge"
