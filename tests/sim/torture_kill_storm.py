#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The kill storm of test_kill_storm.py with more kills: `make torture` or `make torture N=20000`."""
import os
import sys

os.environ.setdefault("N", "2000")
here = os.path.dirname(os.path.abspath(__file__))
os.execv(sys.executable, [sys.executable, os.path.join(here, "test_kill_storm.py")])
