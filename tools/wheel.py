#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a Python wheel of what `cmake --install` put into a folder: tools/wheel.py PREFIX FOLDER

The wheel carries the program, its data, the shared libraries that it needs beside those of the C library, and the module python/fusesim. Equal inputs give
equal bytes: files are sorted and dated by SOURCE_DATE_EPOCH (1980 where it is not set).
"""
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import zipfile

here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# manylinux says that every system has them
C_LIBRARY = re.compile(r"^(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|nsl))\.so")


def libraries(program):
    """The libraries beside the C library, those that libzip needs among them, which the program opens: name, path."""
    found = needed_by(program)
    opened = re.search(rb"libzip\.so\.\d+", open(program, "rb").read())
    if opened:
        name = opened[0].decode()
        ldconfig = shutil.which("ldconfig", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin") or "ldconfig"
        known = subprocess.run([ldconfig, "-p"], check=True, capture_output=True, text=True).stdout
        path = re.search(rf"^\s*{re.escape(name)} .*=> (/\S+)", known, re.M)
        if not path:
            sys.exit(f"wheel.py: {program} opens {name}, which is not on this machine")
        found.update({name: path[1]}, **needed_by(path[1]))
    return found


def needed_by(binary):
    """The libraries beside the C library that a program or library was linked with: name, path."""
    listed = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"^\s*(\S+) => not found", listed, re.M)
    if missing:
        sys.exit(f"wheel.py: {binary} needs {', '.join(missing)}")
    found = re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M)
    return {name: path for name, path in found if not C_LIBRARY.match(name)}


def tag(files):
    """py3-none-manylinux_2_34_x86_64: by the newest symbol of glibc that the files need."""
    newest = max((tuple(map(int, v)) for data in files for v in re.findall(rb"GLIBC_(\d+)\.(\d+)", data)), default=(2, 17))
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


def contents(prefix):
    """Path in the wheel: bytes, whether it is a program."""
    files = {}
    for folder, _, names in os.walk(os.path.join(here, "python", "fusesim")):
        for name in names:
            if name.endswith((".py", ".typed")):
                path = os.path.join(folder, name)
                files[os.path.relpath(path, os.path.join(here, "python"))] = (open(path, "rb").read(), False)
    program = os.path.join(prefix, "bin", "fusesim")
    files["fusesim/_program/bin/fusesim"] = (open(program, "rb").read(), True)
    for folder, _, names in os.walk(os.path.join(prefix, "share", "fusesim")):
        for name in names:
            path = os.path.join(folder, name)
            files["fusesim/_program/" + os.path.relpath(path, prefix)] = (open(path, "rb").read(), False)
    for name, path in libraries(program).items():
        files["fusesim/_program/lib/" + name] = (open(path, "rb").read(), False)
    return files


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    prefix, folder = sys.argv[1:]
    try:
        files = contents(prefix)
    except OSError as e:
        sys.exit(f"wheel.py: {e.filename}: {e.strerror}; cmake --install build/release --prefix PREFIX makes one")
    header = open(os.path.join(here, "include", "fusesim.h"), encoding="utf-8").read()
    version = re.search(r'#define FSIM_VERSION\s+"([0-9.]+)', header)[1]
    name = f"fusesim-{version}"
    tags = tag([data for path, (data, _) in files.items() if "/bin/" in path or "/lib/" in path])
    info = name + ".dist-info/"
    files[info + "METADATA"] = (f"Metadata-Version: 2.1\nName: fusesim\nVersion: {version}\nSummary: analytical fusion cost model for GPUs\n"
                                "License: Apache-2.0\nRequires-Python: >=3.9\n".encode(), False)
    files[info + "WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: fusesim\nRoot-Is-Purelib: false\nTag: {tags}\n".encode(), False)
    files[info + "entry_points.txt"] = (b"[console_scripts]\nfusesim = fusesim:main\n", False)
    files[info + "LICENSE"] = (open(os.path.join(here, "LICENSE"), "rb").read(), False)
    digest = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, (data, _) in files.items()}
    record = "".join(f"{path},sha256={digest[path]},{len(files[path][0])}\n" for path in sorted(files)) + info + "RECORD,,\n"
    files[info + "RECORD"] = (record.encode(), False)
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, f"{name}-{tags}.whl")
    with zipfile.ZipFile(out + ".part", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in sorted(files):
            data, runs = files[path]
            entry = zipfile.ZipInfo(path, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            wheel.writestr(entry, data)
    os.replace(out + ".part", out)
    print(out)


main()
