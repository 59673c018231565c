// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file compat.hpp  Further parts for programs with LibTorch: HCModule, scaled losses, settings, hooks, statistics,
/// DLPack and Eigen's matrices. Not included by <cairn/adapt/torch.hpp>.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cairn/adapt/torch/compat/conversions.hpp>
#include <cairn/adapt/torch/compat/debug_hooks.hpp>
#include <cairn/adapt/torch/compat/dlpack.hpp>
#include <cairn/adapt/torch/compat/hc_config.hpp>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/compat/loss_scaler.hpp>
#include <cairn/adapt/torch/compat/memory_hook.hpp>
#include <cairn/adapt/torch/compat/memory_stats.hpp>
#include <cairn/adapt/torch/compat/settings.hpp>
