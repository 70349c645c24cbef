#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# embed.py OUT.c FILE.sql...: the migrations as C text constants, in the order of their numbers.
import os
import sys

out, files = sys.argv[1], sorted(sys.argv[2:], key=os.path.basename)
lines = ['/* made by sql/embed.py */', '#include "server/boot.h"', '',
         'const char *const server_migrations[] = {']
for number, path in enumerate(files, 1):
    name = os.path.basename(path)
    if not name.startswith('%04d_' % number):
        sys.exit('%s: migrations are numbered without a gap; expected %04d_' % (name, number))
    for line in open(path, encoding='utf-8'):
        text = line.rstrip('\n').replace('\\', '\\\\').replace('"', '\\"')
        lines.append('    "%s\\n"' % text)
    lines.append('    ,')
lines.append('    NULL};')
with open(out, 'w', encoding='utf-8') as f:
    f.write('\n'.join(lines) + '\n')
