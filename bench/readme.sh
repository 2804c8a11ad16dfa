#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/readme.sh [--check] [README.md]: refreshes what README.md shows of fusesim's output. --check writes nothing and exits 1 where something is out of date.
#   <!-- output: COMMAND -->   the fenced block that follows becomes the command's output
#   ```                        a fenced block that starts with "$ fusesim ..." becomes that line and its output
#   $ fusesim ...
#   <!-- summary -->           up to <!-- end -->: what stands there in reports/accuracy.md
# Commands run in a scratch folder with workloads/, tests/ and validate/ in it, at 80 columns, and with DATA=../shared/data beside the repository; one that needs $DATA, or
# NVRTC, is left as it is where that is not. Needs a release build.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
check=
[ "${1-}" != --check ] || { check=1; shift; }
readme=$(readlink -f -- "${1:-$here/README.md}")
export DATA=${DATA:-$here/../shared/data}
program=${FUSESIM:-$here/build/release/fusesim}
[ -x "$program" ] || { echo "no program at $program: call ./run once" >&2; exit 70; }
export COLUMNS=80 LC_ALL=C
unset FUSESIM_HWMODELS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for folder in workloads hwmodels tests validate bench; do ln -s "$here/$folder" "$scratch"; done
fusesim() { "$program" "$@"; }
[ -d "$DATA/measured" ] && DATA=$(cd "$DATA" && pwd)
can_run() { case $1 in
    *'$DATA'*) [ -d "$DATA/measured" ] ;;
    *--registers*) (cd "$scratch" && fusesim validate workloads/seeds/copy_1gb.yaml --hw t4 --registers >/dev/null 2>&1) ;; # where there is no compiler the figures stay as they are
    esac; }
output() { (cd "$scratch" && eval "$1") </dev/null | sed "s|$DATA/measured/||g; s/ *\$//"; }

refresh() {
    local line command
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in
        '<!-- output: '*' -->')
            command=${line#<!-- output: }
            command=${command% -->}
            IFS= read -r line
            printf '%s\n' "$line"
            [ "$line" = '```' ] || { echo "no block behind the marker of: $command" >&2; exit 1; }
            replace "$command"
            ;;
        '<!-- summary -->')
            [ ! -e "$here/reports/accuracy.md" ] || awk '/^<!-- end/ { inside = 0 } inside; /^<!-- summary/ { inside = 1 }' "$here/reports/accuracy.md"
            while IFS= read -r line && [ "$line" != '<!-- end -->' ]; do [ -e "$here/reports/accuracy.md" ] || printf '%s\n' "$line"; done
            printf '%s\n' '<!-- end -->'
            ;;
        '```')
            IFS= read -r line
            printf '%s\n' "$line"
            case $line in '$ fusesim '*) replace "${line#\$ }" ;; '```') ;; *) while IFS= read -r line; do printf '%s\n' "$line"; [ "$line" != '```' ] || break; done ;; esac
            ;;
        '```'*) while IFS= read -r line; do printf '%s\n' "$line"; [ "$line" != '```' ] || break; done ;;
        esac
    done
}

# replace COMMAND: its output, in place of the lines up to the block's end.
replace() {
    local line
    if can_run "$1"; then
        output "$1"
        while IFS= read -r line && [ "$line" != '```' ]; do :; done
        printf '```\n'
    else
        while IFS= read -r line; do printf '%s\n' "$line"; [ "$line" != '```' ] || break; done
    fi
}

refresh <"$readme" >"$scratch/README.new"
if cmp -s "$scratch/README.new" "$readme"; then
    echo "up to date"
elif [ -n "$check" ]; then
    diff "$readme" "$scratch/README.new" || true
    exit 1
else
    cat "$scratch/README.new" >"$readme"
    echo "refreshed"
fi
