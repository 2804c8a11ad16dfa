#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 10
# validate/carry.sh packs a program, linked of this build's objects, that needs nothing but glibc and what goes along: it fails on any other library. Unpacked elsewhere, the program
# plans a workload, an ONNX file and a torch.export archive, and where there is no libzip says so.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
build=$(dirname "$FUSESIM")
failures=0
log=$PWD/log
complain() { echo "FAILED: $1" >&2; cat "$log" >&2; failures=$((failures + 1)); }
[ -e "$build/libfusesim_core.a" ] || { echo "no objects in $build"; exit 77; }
! nm "$FUSESIM" | grep -q ' __asan_init' || { echo 'objects with sanitizers are not linked here'; exit 77; }

NVCCFLAGS='-O0 -Xcicc -O0 -Xptxas -O0' "$SOURCE_DIR/validate/carry.sh" -o pack --from "$build" >"$log" 2>&1 || { complain carry.sh; exit 1; }
! command -v nvcc >nvcc.path || [ -x "pack/$("$FUSESIM" --version | tr ' ' -)/products" ] || grep -q cublas pack/build.log || complain "nvcc does not build products.cu: $(cat pack/build.log)"
grep -q '^carry.sh: it reads torch.export archives where' "$log" || complain 'it does not say what else the program takes'
mkdir elsewhere && tar xzf pack/fusesim-*.tar.gz -C elsewhere --strip-components=1 || complain 'the archive'
cd elsewhere || exit 1
[ -x gpu_session.sh ] && [ -s LICENSE ] || complain 'the archive lacks gpu_session.sh or LICENSE'
for workload in mlp.yaml 'models/tiny_cnn.onnx --dim batch=2' 'models/tiny_cnn.pt2 --dim s40=8'; do
    # shellcheck disable=SC2086
    env -i PATH="$PATH" FUSESIM_HWMODELS="$PWD/hwmodels" ./fusesim workloads/$workload --hw l4 --quiet >out 2>"$log" && grep -q ' on l4: optimal ' out || complain "$workload"
done
"$SOURCE_DIR/validate/carry.sh" --from "$PWD" 2>"$log"
[ $? = 2 ] && grep -q '^carry.sh \[-o DIR\]' "$log" || complain '--from a folder without objects'
exit $((failures > 0))
