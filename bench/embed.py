#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# embed.py OUT.c FILE: the suites as one C text constant.
import sys

with open(sys.argv[2], encoding='utf-8') as f:
    lines = ['    "%s\\n"' % line.rstrip('\n').replace('\\', '\\\\').replace('"', '\\"') for line in f]
with open(sys.argv[1], 'w', encoding='utf-8') as f:
    f.write('/* made by bench/embed.py */\n#include "cli/bench.h"\nconst char bench_suite_py[] =\n' + '\n'.join(lines) + ';\n')
