# SPDX-License-Identifier: Apache-2.0
# What the scripts beside it begin with. Sets top, the repository, and program, which FUSESIM may name.
# shellcheck shell=bash disable=SC2034
top=$(cd "$(dirname "$0")/.." && pwd)
program=${FUSESIM:-$top/build/release/fusesim}
[ -x "$program" ] || { echo "no program at $program: call ./run once" >&2; exit 70; }

# workloads [FOLDER...]: the workloads under the folders, in order; default: workloads/, and ../shared/data/workloads where it is.
workloads() {
    [ $# -gt 0 ] || set -- "$top/workloads" $([ -d "$top/../shared/data/workloads" ] && echo "$top/../shared/data/workloads")
    find "$@" -name '*.yaml' | LC_ALL=C sort
}
