#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of mem_vs_time.cpp in PyTorch, plain or with torch.utils.checkpoint.

usage: models.py MODEL MODE FILE BATCH SIZE LIBRARY; MODE is naive or blocks:BYTES, LIBRARY is allocation_log.cpp
"""
import ctypes
import json
import pathlib
import resource
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import peer  # noqa: E402

model, mode, file, batch, size, library = sys.argv[1:]
batch, size = int(batch), int(size)
torch.set_num_threads(1)


def noise(first, *sizes):
    return torch.from_numpy(peer.noise(first, int(torch.tensor(sizes).prod()))).reshape(sizes)


def convolution(inputs, outputs, width, stride):
    return nn.Conv2d(inputs, outputs, width, stride, width // 2, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        self.conv1 = convolution(inputs, width, 1 if bottleneck else 3, 1 if bottleneck else stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2, self.bn2 = convolution(width, width, 3, stride if bottleneck else 1), nn.BatchNorm2d(width)
        self.bottleneck = bottleneck
        if bottleneck:
            self.conv3, self.bn3 = convolution(width, outputs, 1, 1), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu_()))
        if self.bottleneck:
            y = self.bn3(self.conv3(y.relu_()))
        y += self.downsample(x) if self.downsample else x
        return y.relu_()


class ResNet(nn.Module):
    def __init__(self, layers, bottleneck):
        super().__init__()
        self.conv1, self.bn1 = convolution(3, 64, 7, 2), nn.BatchNorm2d(64)
        blocks, inputs = [], 64
        for number, count in enumerate(layers):
            width = 64 << number
            for k in range(count):
                blocks.append(ResidualBlock(inputs, width, 2 if k == 0 and number > 0 else 1, bottleneck))
                inputs = 4 * width if bottleneck else width
        self.blocks = nn.ModuleList(blocks)
        self.fc = nn.Linear(inputs, 1000)

    def before_blocks(self, x):
        return nn.functional.max_pool2d(self.bn1(self.conv1(x)).relu_(), 3, 2, 1)

    def after_blocks(self, y):
        return self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(y, 1), 1))


class Attention(nn.Module):
    def __init__(self, length, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("later", torch.full((length, length), -float("inf")).triu(1))

    def forward(self, x):
        count, length, width = x.shape
        q, k, v = (p.view(count, length, self.heads, width // self.heads).transpose(1, 2)
                   for p in self.c_attn(x).split(width, 2))
        scores = q.matmul(k.transpose(-2, -1)) / (width / self.heads) ** 0.5
        weights = torch.softmax(scores + self.later[:length, :length], -1)
        return self.c_proj(weights.matmul(v).transpose(1, 2).contiguous().view(count, length, width))


class GPTBlock(nn.Module):
    def __init__(self, length, width, heads):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), Attention(length, width, heads), nn.LayerNorm(width)
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = x + self.attn(self.ln_1(x))
        return y + self.c_proj(nn.functional.gelu(self.c_fc(self.ln_2(y))))


class GPT(nn.Module):
    def __init__(self, tokens, length, width, heads, blocks):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GPTBlock(length, width, heads) for _ in range(blocks))
        self.ln_f = nn.LayerNorm(width)

    def before_blocks(self, tokens):
        return self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))

    def after_blocks(self, y):
        return nn.functional.linear(self.ln_f(y), self.wte.weight)


if model == "gpt":
    net, x = GPT(256, size, 256, 4, 12), ((noise(1, batch, size) + 0.5) * 256).to(torch.int64)
else:
    net = ResNet(*{"resnet18": ((2, 2, 2, 2), False), "resnet50": ((3, 4, 6, 3), True),
                   "resnet152": ((3, 8, 36, 3), True)}[model])
    x = 4 * noise(1, batch, 3, size, size)
parameters, numbers = list(net.parameters()), 0
with torch.no_grad():
    for name, p in net.named_parameters():
        if name.endswith("bias"):
            p.zero_()
        if p.dim() >= 2:
            scale = 1.0
            while scale * scale * (p.numel() // p.shape[0]) > 24:
                scale /= 2
            p.copy_(noise(numbers, *p.shape) * scale)
            numbers += p.numel()
checkpointed, segment = 0, 1


def forward():
    y, k, blocks = net.before_blocks(x), 0, list(net.blocks)
    while k < len(blocks):
        last = min(k + segment, checkpointed) if k < checkpointed else len(blocks)
        part = nn.Sequential(*blocks[k:last])
        y = checkpoint(part, y, use_reentrant=False) if k < checkpointed else part(y)
        k = last
    return net.after_blocks(y)


with torch.no_grad():
    seed = noise(2, *forward().shape)


def step():
    for p in parameters:
        p.grad = None
    y = forward()
    y.backward(seed)
    return y


log = ctypes.CDLL(library)
log.log_end.restype = ctypes.c_int64


def counted():
    """The most bytes of tensors at once in a step, beside the gradients of parameters."""
    for p in parameters:
        p.grad = None
    log.log_begin()
    y = step()
    beside = [p.grad.untyped_storage().data_ptr() for p in parameters]
    peak = log.log_end((ctypes.c_void_p * len(beside))(*beside), ctypes.c_int64(len(beside)))
    del y
    return peak


def fits(blocks_, segment_):
    global checkpointed, segment
    checkpointed, segment = blocks_, segment_
    return counted() <= limit


words = "all is kept"
if mode != "naive":
    limit, n = int(mode.split(":")[1]), len(net.blocks)
    segment = next((s for s in range(1, n + 1) if fits(n, s)), None)
    if segment is None:
        sys.exit(f"no regions of blocks keep within {limit} bytes")
    few, enough = (0, n) if segment == 1 else (n, n)
    while few < enough:
        middle = (few + enough) // 2
        few, enough = (few, middle) if fits(middle, 1) else (middle + 1, enough)
    checkpointed = enough
    words = f"{checkpointed} of {n} blocks in regions of {segment}"
step()
for p in parameters:
    p.grad = None
ctypes.CDLL(None).malloc_trim(0)
peer.serve(model, step, lambda y: [y.detach().numpy(), *(p.grad.numpy() for p in parameters)], file,
           lambda: {"bytes": counted(), "words": words, "bytes_are": "tensors",
                    "version": f"torch {torch.__version__}"})
