#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/readme.sh [--check] [FILE.md...]: refreshes what README.md and docs/*.md, or the files, show of fusesim's output. --check writes nothing and exits 1 where something is
# out of date.
#   <!-- output: COMMAND -->   the fenced block that follows becomes the command's output
#   ```                        a fenced block that starts with "$ fusesim ..." becomes that line and its output
#   $ fusesim ...
#   <!-- summary -->           up to <!-- end -->: what stands there in reports/accuracy.md
#   <!-- rows of the summary -->  up to <!-- end -->: the rows of that table whose first cell stands here
# Commands run in a scratch folder with workloads/, tests/ and validate/ in it, at 80 columns, and with DATA=../shared/data beside the repository; one that needs $DATA, or
# NVRTC, is left as it is where that is not, or where QUICK is set. Needs a release build.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
check=
[ "${1-}" != --check ] || { check=1; shift; }
[ $# -gt 0 ] || set -- "$here/README.md" "$here"/docs/*.md
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
    *'$DATA'* | *--registers*) [ -z "${QUICK-}" ] || return 1 ;;& # slow
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
        '<!-- rows of the summary -->')
            while IFS= read -r line && [ "$line" != '<!-- end -->' ]; do row_of "$line"; done
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

# row_of ROW: the row of the summary in reports/accuracy.md that starts with the same cell; the row itself where there is none.
row_of() {
    awk -v row="$1" '
        BEGIN { split(row, cell, "|"); key = cell[2]; gsub(/^ +| +$/, "", key) }
        /^<!-- summary/ { inside = 1 }
        /^<!-- end/ { inside = 0 }
        inside { split($0, cell, "|"); gsub(/^ +| +$/, "", cell[2]); if (cell[2] == key && !found) { print; found = 1 } }
        END { if (!found) print row }' "$here/reports/accuracy.md"
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

stale=0 changed=0
for file; do
    readme=$(readlink -f -- "$file")
    refresh <"$readme" >"$scratch/new.md"
    cmp -s "$scratch/new.md" "$readme" && continue
    changed=1
    if [ -n "$check" ]; then
        echo "$file is out of date:"
        diff "$readme" "$scratch/new.md" || true
        stale=1
    else
        cat "$scratch/new.md" >"$readme"
    fi
done
[ $stale = 0 ] || exit 1
[ $changed = 1 ] && echo refreshed || echo 'up to date'
