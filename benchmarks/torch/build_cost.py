#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the adapter adds to the compile time of a file that includes LibTorch.

    build_cost.py COMPILER [FLAG...]

FLAGs name the include folders. Four files: torch.h alone, with the adapter, and each with one loop, plain and
checkpointed. User CPU seconds of the compiler at -O2, medians of 3 interleaved rounds. Fails where the adapter's file
takes more than 1.5 times what torch.h alone takes.
"""
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

torch, adapter = "#include <torch/torch.h>\n", "#include <cairn/adapt/torch.hpp>\n"
step = "at::Tensor step(at::Tensor const& x) { return torch::tanh(x); }\n"
files = {
    "torch.h alone": torch,
    "torch.h and the adapter": torch + adapter,
    "a plain loop": torch + step
    + "at::Tensor run(at::Tensor x) {\n  for (int i = 0; i < 100; ++i) x = step(x);\n  return x;\n}\n",
    "a checkpointed loop": torch + adapter + step
    + "at::Tensor run(at::Tensor x) { return cairn::libtorch::checkpointed_loop([](at::Tensor const& t) { return "
      "step(t); }, x, 100, cairn::libtorch::LoopOptions()); }\n",
}
rounds = 3


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    compiler, *flags = sys.argv[1:]
    seconds = {name: [] for name in files}
    with tempfile.TemporaryDirectory() as scratch:
        source, made = pathlib.Path(scratch, "file.cpp"), pathlib.Path(scratch, "file.o")
        for _ in range(rounds):
            for name, text in files.items():
                source.write_text(text)
                seconds[name].append(user_seconds([compiler, "-std=c++20", "-O2", *flags, "-c", source, "-o", made]))
    alone = seconds["torch.h alone"]
    ratio = {name: statistics.median(a / b for a, b in zip(of, alone)) for name, of in seconds.items()}
    for name, of in seconds.items():
        print(f"{name:<26}{statistics.median(of):>8.2f} s of user CPU{ratio[name]:>8.2f} x")
    return 0 if ratio["torch.h and the adapter"] <= 1.5 else 1


if __name__ == "__main__":
    sys.exit(main())
