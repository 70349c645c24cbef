#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian 12 with Jupyter Notebook 6.4, NumPy and Matplotlib. JupyterLab is not in Debian 12; `pip install jupyterlab` in a
# virtual environment on the instance's disk adds it. Start it with the instance:
#
#     starlease run --gpu MI300X:1 notebook jupyter notebook --allow-root --no-browser --ip=127.0.0.1 --port=8888
#
# and reach it through SSH (`starlease ssh LEASE -L 8888:127.0.0.1:8888`).
#
#     images/notebook.sh notebook.tar
set -eu
PACKAGES=jupyter-notebook,python3-numpy,python3-matplotlib,python3-pip,python3-venv
export PACKAGES
exec "$(dirname "$0")/debian-small.sh" "$@"
