# SPDX-License-Identifier: Apache-2.0
# Sourced with $here, this folder, and $folder, that of the wheel: $flags compile a program, $links link it.
include="$here/../../include"
torch="$folder/packages/torch"
flags="-I$include -isystem $torch/include -isystem $torch/include/torch/csrc/api/include"
links="$torch/lib/libtorch_cpu.so $torch/lib/libc10.so"
for libraries in "$torch/lib" "$folder"/packages/nvidia/*/lib; do
  links="$links -Wl,-rpath,$libraries -Wl,-rpath-link,$libraries"
done
