#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# cost: 1
# The same bytes with a small stack and a large one, with addresses that change and that don't, in 1, 2 and 8 threads, and where memory is not zero: a small part of
# bench/determinism.sh, which also compares compilers. A program whose answer does depend on what is around it is noticed.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C GPUS=t4 WORKLOADS='mlp golden/norm_quantise'
fail=0
bash "$SOURCE_DIR/bench/determinism.sh" >out 2>err || { cat out err; fail=1; }
[ "$(grep -c '^| .* | 2 | 0 |$' out)" -ge 8 ] && ! grep -v '| 0 |$' out | grep '^| [^w-]' || { echo 'FAILED: rows are missing, or differ'; cat out err; fail=1; }
cat >unsound <<END
#!/usr/bin/env bash
"$FUSESIM" "\$@" && echo "\${MALLOC_PERTURB_:-}"
END
chmod +x unsound
! FUSESIM=$PWD/unsound WORKLOADS=mlp bash "$SOURCE_DIR/bench/determinism.sh" >out 2>err && grep -q '^| memory that is not zero | 1 | 1 |$' out || { echo 'FAILED: an unsound program passes'; cat out err; fail=1; }
exit $fail
