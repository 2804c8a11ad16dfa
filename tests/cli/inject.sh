#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 16
# Calls that fail, by bench/inject.sh: what every command does when memory, a file, a program or a library is not to be had. Here each 8000th allocation and all other calls of some
# commands; bench/inject.sh itself takes all.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset FUSESIM_HWMODELS COLUMNS
python=
for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
    [ -n "$python" ] || { "$candidate" -c '' 2>/dev/null && python=$candidate; }
done
[ -n "$python" ] || { echo 'no python3'; exit 77; }
fail=0
rm -f unsound out err drawing
# What fusesim does around gnuplot is asked here, not what gnuplot draws (cli.charts): the first drawing is given again and again. Like gnuplot, this says nothing of a file that is full.
cat >draws <<'END'
#!/bin/sh
[ -s "$DRAWING" ] || { gnuplot >"$DRAWING.new" && mv "$DRAWING.new" "$DRAWING"; } || exit 1
cat "$DRAWING" 2>/dev/null
exit 0
END
chmod +x draws
export DRAWING=$PWD/drawing FUSESIM_GNUPLOT=$PWD/draws
bash "$SOURCE_DIR/bench/inject.sh" --kind alloc --every 8000 >out 2>err || { cat out err; fail=1; }
grep -q '^| plan --train | ' out || { echo 'FAILED: no row of a command'; fail=1; }
for command in 'plan, chart' codegen; do
    bash "$SOURCE_DIR/bench/inject.sh" --command "$command" --kind memstream,open,sync,rename,start,thread,clock,filesize >out 2>err || { cat out err; fail=1; }
done
# A program that does give another answer is noticed.
cat >unsound <<END
#!/usr/bin/env bash
[ -z "\${INJECT_COUNT:-}" ] || echo 1 >"\$INJECT_COUNT"
[ "\$INJECT_KIND\$INJECT_AT" != rename1 ] || exec "$FUSESIM" hw list
exec "$FUSESIM" "\$@"
END
chmod +x unsound
! FUSESIM=$PWD/unsound bash "$SOURCE_DIR/bench/inject.sh" --command 'plan, gates' --kind rename >out 2>err && grep -q 'another result\|half-written' err || { echo 'FAILED: an unsound program passes'; cat out err; fail=1; }
exit $fail
