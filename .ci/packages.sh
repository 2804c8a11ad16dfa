# SPDX-License-Identifier: Apache-2.0
# Sourced by run and test: what they need from the system, and how it gets here.

# have NAME: is there a working NAME? Asked of the tool itself, as it may have come from elsewhere than a package.
have() {
    case $1 in
    libc6-dev) printf '#include <stdio.h>\nint main(void){return 0;}\n' | cc -std=c11 -x c - -o /dev/null ;;
    ninja-build) command -v ninja ;;
    lld) command -v ld.lld ;;
    slurm-wlm) command -v slurmctld || command -v /usr/sbin/slurmctld ;;
    dpkg-dev) command -v dpkg-shlibdeps ;;
    libyaml-dev) pkg-config --exists yaml-0.1 ;;
    libcjson-dev) pkg-config --exists libcjson ;;
    libzip-dev) pkg-config --exists libzip ;;
    libcmocka-dev) pkg-config --exists cmocka ;;
    libprotobuf-c-dev) pkg-config --exists libprotobuf-c ;;
    protobuf-c-compiler) command -v protoc-c ;;
    libonnx-dev) test -f /usr/include/onnx/onnx.proto ;;
    libonnx-testdata) test -d /usr/share/libonnx-testdata/data ;;
    gnuplot-nox) command -v gnuplot ;;
    libnlopt0) { ldconfig -p || /sbin/ldconfig -p; } | grep libnlopt.so.0 ;;
    python3-jsonschema) python3 -c 'import jsonschema' || /usr/bin/python3 -c 'import jsonschema' ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1 </dev/null
}

# missing PACKAGE...: those that are not here.
missing() {
    for package in "$@"; do
        have "$package" || printf '%s ' "$package"
    done
}

# install_packages PACKAGE...: from the distribution, talking to stderr. Reads nothing from stdin, which may be a workload.
install_packages() {
    [ $# -gt 0 ] || return 0
    as_root=
    if ! command -v apt-get >/dev/null; then
        echo "missing: $*; there is no apt-get here: install them by hand (the names are Debian's)" >&2
        return 1
    elif [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "missing: $*; as root: apt-get install $*" >&2; return 1; }
        as_root=sudo
    fi
    echo "installing: $*" >&2
    { $as_root apt-get update -q &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            -o DPkg::Lock::Timeout=300 "$@"; } </dev/null >&2
}
