# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of validate --device: what they share.
. "${SOURCE_DIR:?}/tests/answers.sh"
: "${MOCKGPU:?}"
export FUSESIM_CACHE=${FUSESIM_CACHE:-$PWD/cache}
command -v "${CC:-cc}" >/dev/null || { echo "no C compiler: nothing can run"; exit 77; }
has() { grep -Eq -- "$2" "$1" || complain "no '$2' in $1: $(head -n 60 "$1")"; }
hasnt() { ! grep -Eq -- "$2" "$1" || complain "'$2' in $1: $(head -n 60 "$1")"; }
trial=$SOURCE_DIR/tests/trial # workloads
# exits STATUS ARGUMENT...: of validate
exits() {
    local wanted=$1 status=0
    shift
    timeout 240 "$FUSESIM" validate "$@" >out 2>err || status=$?
    [ $status = "$wanted" ] || complain "exit status $status, wanted $wanted: $*: $(cat err)"
}
small="--scale-shapes 64 --strategies eager,unfused,optimal"
# gpu STATUS ARGUMENT...: on the GPU that is none
gpu() { FUSESIM_CUDA_LIB=$MOCKGPU FUSESIM_NVRTC_LIB=$MOCKGPU FUSESIM_CUPTI_LIB=$MOCKGPU FUSESIM_CUBLAS_LIB=$MOCKGPU FUSESIM_CUBLASLT_LIB=$MOCKGPU MOCK_SKIP_REPEATS=1 exits "$@" --device cuda --hw h100-sxm5-80gb --samples 3; }
