#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian 12 with PyTorch 1.13 for the CPU: for trying things out, for tests of data loading, not for the cards.
#
#     images/torch-cpu.sh torch-cpu.tar
set -eu
PACKAGES=python3-torch,python3-torchvision,python3-numpy,python3-pip
export PACKAGES
exec "$(dirname "$0")/debian-small.sh" "$@"
