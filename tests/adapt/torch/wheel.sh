#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh FOLDER: LibTorch of PyPI and the two libraries that its processor part needs, in FOLDER/packages, made once.
set -eu
exec "$(dirname "$0")/../../support/pypi.sh" torch "$1" torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
