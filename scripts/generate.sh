#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints man pages and bash completions from the programs' own command tables: generate.sh BUILD [DIRECTORY]
# The files are kept in the tree; tests/docs/test_docs.py fails when they are stale.
set -eu
build=${1:?usage: generate.sh BUILD [DIRECTORY]}
out=${2:-$(dirname "$0")/..}
mkdir -p "$out/man" "$out/packaging/completions"
for name in starlease starleased starlease-agentd starlease-agent starport starsim; do
    [ -x "$build/$name" ] || continue
    "$build/$name" --man >"$out/man/$name.1"
    "$build/$name" --completion >"$out/packaging/completions/$name"
done
