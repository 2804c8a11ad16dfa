#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command of README.md works: the lines of its ```sh blocks that start with `./run ` or `fusesim ` (a `$ ` in front is allowed),
# run one after the other from a copy of the shipped data.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
readme=$SOURCE_DIR/README.md
[ -e "$readme" ] || { echo 'no README.md'; exit 77; }
for folder in workloads hwmodels tests validate; do ln -s "$SOURCE_DIR/$folder" .; done
unset FUSESIM_HWMODELS
fusesim() { "$FUSESIM" "$@"; }
failures=0 commands=0

while IFS= read -r line <&3; do
    commands=$((commands + 1))
    if ! (set -o pipefail; eval "$line") </dev/null >out 2>err; then
        echo "FAILED: $line" >&2
        head -n 12 err >&2
        failures=$((failures + 1))
    fi
done 3< <(awk '
    /^[ \t]*```/ { inside = !inside && $0 ~ /^[ \t]*```(sh|console|bash)[ \t]*$/; next }
    inside && more { command = command " " $0 }
    inside && !more { sub(/^[ \t]*(\$ )?/, ""); command = $0 }
    inside { more = sub(/\\$/, "", command); if (!more && command ~ /^(\.\/run|fusesim) /) { sub(/^\.\/run /, "fusesim ", command); print command } }
' "$readme")

[ $commands -gt 0 ] || { echo 'README.md shows no command' >&2; exit 1; }
[ $failures = 0 ] || { echo "$failures of $commands commands failed" >&2; exit 1; }
echo "$commands commands"
