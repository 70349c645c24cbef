#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# embed.py OUT.c FILE.sql...: the migrations as C text constants, in the order of their numbers.
import os
import sys

out, files = sys.argv[1], sorted(sys.argv[2:], key=os.path.basename)
lines = ['/* made by sql/embed.py */', '#include "server/boot.h"', '',
         'const char *const server_migrations[] = {']
last = ''
for path in files:
    name = os.path.basename(path)
    if not name[:4].isdigit() or name[4:5] != '_' or name[:4] == last:
        sys.exit('%s: a migration is NNNN_NOUN.sql with a number of its own' % name)
    last = name[:4]
    for line in open(path, encoding='utf-8'):
        text = line.rstrip('\n').replace('\\', '\\\\').replace('"', '\\"')
        lines.append('    "%s\\n"' % text)
    lines.append('    ,')
lines.append('    NULL};')
with open(out, 'w', encoding='utf-8') as f:
    f.write('\n'.join(lines) + '\n')
