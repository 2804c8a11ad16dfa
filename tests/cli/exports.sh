#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# What a header declares, somebody else uses: an external function or table that no other file of the program refers to, and no test, is static or gone. libfusesim's own calls are
# for its users; fsim_batch_* and fsim_tangent_* are rows of op.def and gradient.def. Needs nm and the objects of a build by hand.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
library=$(dirname "$FUSESIM")/libfusesim_core.a
command -v nm >/dev/null && [ -e "$library" ] || { echo "needs nm and $library"; exit 77; }
cat "$SOURCE_DIR"/tests/unit/*.c "$SOURCE_DIR"/tests/*.c "$SOURCE_DIR"/tests/fuzz/*.c "$SOURCE_DIR"/tests/threads/*.c "$SOURCE_DIR"/bench/*.c "$SOURCE_DIR"/src/main.c "$SOURCE_DIR"/src/command/commands.def >users
nm -A "$library" 2>/dev/null >symbols
awk -v users=users '
    BEGIN { while ((getline line < users) > 0) { while (match(line, /fsim_[a-z0-9_]+/)) { named[substr(line, RSTART, RLENGTH)] = 1; line = substr(line, RSTART + RLENGTH) } } }
    { split($1, where, ":"); object = where[2] }
    $(NF - 1) ~ /^[TDRBC]$/ && $NF ~ /^fsim_/ { made[$NF] = object; count++ }
    $(NF - 1) == "U" { used[$NF] = 1 }
    END {
        if (count < 500) { print "few symbols: " count; bad = 1 }
        for (name in made)
            if (!(name in used) && !(name in named) && name !~ /^fsim_(batch|tangent)_/ && made[name] !~ /^(inputs|plans|session)/) { print name " (" made[name] "): no other file uses it"; bad = 1 }
        exit bad
    }' symbols
