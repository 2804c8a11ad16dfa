# SPDX-License-Identifier: Apache-2.0
from fusesim import main

main()
