// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adjoint_check.hpp  The whole of `check_adjoint`, without the types of the loop.
#include <cairn/core/action.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/run/check/check_options.hpp>
#include <cairn/run/check/detail/differentiated.hpp>
#include <cairn/run/check/report.hpp>

namespace cairn::detail {

/// Checks the loop; unless constants are named, looks for them if an adjoint is found wrong.
[[nodiscard]] CAIRN_DECL adjoint_report report_of(checked_functions& functions, unnamed_state const& x0,
                                                             step_index n, check_options const& options,
                                                             bool constants_are_named);

}  // namespace cairn::detail

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/run/check/detail/impl/adjoint_check.ipp>
#endif
