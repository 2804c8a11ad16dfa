#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sources: all C is formatted as .clang-format says (where clang-format 14 is found); paths that comments and documents name exist; functions are
# short and take few parameters; what headers declare has a comment; no files include each other in a circle. The recorded numbers are in house.py.
# depends: once cost: 13
set -u
scratch=$PWD
cd "${SOURCE_DIR:?}" || exit 70
failed=0
"${PYTHON:-python3}" tests/cli/house.py . || failed=1
if command -v clang-format >/dev/null && clang-format --version | grep -q 'version 14\.'; then
    # What was found formatted, by this clang-format and as .clang-format is, is so still: a file's name and contents say it.
    style=$({ clang-format --version; cat .clang-format; } | sha256sum)
    known=${FUSESIM_CACHE:-$scratch}/formatted.${style%% *}
    { git ls-files '*.c' '*.h' 2>/dev/null || find src validate tests include examples -name '*.[ch]'; } | while read -r file; do [ ! -f "$file" ] || echo "$file"; done | xargs sha256sum >"$scratch/all"
    touch "$known" 2>/dev/null || known=/dev/null
    if grep -vxFf "$known" "$scratch/all" | sed 's/^[^ ]* *//' | xargs -r -n 40 -P 2 clang-format --dry-run -Werror 2>"$scratch/unformatted"; then
        [ "$known" = /dev/null ] || { cp "$scratch/all" "$known.$$" && mv "$known.$$" "$known"; }
    else
        grep -o '^[^:]*:[0-9]*' "$scratch/unformatted" | sort -u | head -n 20
        echo 'FAILED: not formatted: clang-format -i'
        failed=1
    fi
    rm -f "$scratch/unformatted" "$scratch/all"
else
    echo 'no clang-format 14: the format is not checked'
fi
exit $failed
