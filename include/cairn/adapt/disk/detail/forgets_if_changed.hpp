// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file forgets_if_changed.hpp  What a sweep leaves that ends by an exception.
#include <exception>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>

namespace cairn::detail {

/// A sweep that ends by an exception after its parameters or functions have changed leaves nothing of it.
template <class Unchanged>
struct forgets_if_changed {
  disk_report& report;
  run_folder& folder;
  slot_index slots;
  Unchanged const& unchanged;
  int const thrown = std::uncaught_exceptions();
  ~forgets_if_changed() {
    if (std::uncaught_exceptions() == thrown) return;
    try {
      if (unchanged()) return;
    } catch (...) {  // the user's own: then it is not known
    }
    folder.forget_own(slots);
    report.why = why_changed;
  }
};

}  // namespace cairn::detail
