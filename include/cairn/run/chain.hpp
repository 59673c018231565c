// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain.hpp  Umbrella of the executors for chains: chain_gradient, chain_probe, any_stage. Not part of
/// <cairn/cairn.hpp>.
#include <cairn/door/detail/stage_checks.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/chain/any_stage.hpp>
#include <cairn/run/chain/gradient.hpp>
#include <cairn/run/chain/loop_store.hpp>
#include <cairn/run/chain/probe.hpp>
#include <cairn/run/chain/store.hpp>
