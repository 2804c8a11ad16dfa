# SPDX-License-Identifier: Apache-2.0
"""How the scripts beside it write figures."""
import math

def duration(seconds, digits=3):
    """In the unit that fits, with so many digits that count, and never with an exponent: 1.69 s, 60.3 ms, 812 us."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        value = float(f"{seconds / scale:.{digits}g}")  # 999.96 us is 1.000 ms
        if value >= 1 or unit == "ns":
            break
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0}f} {unit}"

def microseconds(seconds):
    """Of a column in us."""
    return "-" if seconds is None else f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"
