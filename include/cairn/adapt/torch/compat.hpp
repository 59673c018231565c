// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file compat.hpp  Further parts for programs with LibTorch: HCModule, settings, hooks of memory and its statistics.
/// Not included by <cairn/adapt/torch.hpp>.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/compat/memory_stats.hpp>
#include <cairn/adapt/torch/compat/settings.hpp>
