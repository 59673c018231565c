// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph.hpp  All of the executor for graphs: graph_builder, graph_gradient, graph_workspace,
/// graph_probe. Not in <cairn/cairn.hpp>.
#include <cairn/run/graph/adjoint.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/gradient.hpp>
#include <cairn/run/graph/probe.hpp>
#include <cairn/run/graph/value.hpp>
#include <cairn/run/graph/workspace.hpp>
