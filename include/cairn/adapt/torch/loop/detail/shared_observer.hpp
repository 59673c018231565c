// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file shared_observer.hpp  An observer of any type in the options of a loop over tensors.
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep/detail/execute.hpp>

namespace cairn::libtorch::detail {

/// One observer, or none. Copies share it, so that it lives as long as the last graph whose backward may call it.
class shared_observer {
 public:
  shared_observer() = default;
  /// \param told  null: none
  template <class Observer>
  explicit shared_observer(std::shared_ptr<Observer> watcher) {
    if (watcher) call_ = [watcher = std::move(watcher)](event const& seen) { tell(*watcher, seen); };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return bool(call_); }
  /// \pre there is one
  void operator()(event const& seen) const { call_(seen); }

 private:
  template <class Observer>
  static void tell(std::reference_wrapper<Observer> watcher, event const& seen) { tell(watcher.get(), seen); }
  /// Passes an event on with the clock of the observer's type, which the executor does not know.
  template <class Observer>
  static void tell(Observer& watcher, event const& seen) {
    event::source const same{
        &seen, [](void const* of) { return static_cast<event const*>(of)->bytes_held(); },
        [](void const* of, event::sink sink, void* context) {
          return static_cast<event const*>(of)->each_buffer(
              [&](void const* bytes, std::size_t size) { sink(context, bytes, size); });
        },
        cairn::detail::clock_of<Observer>(),
        [](void const* of, sweep_work& left) {
          auto const work = static_cast<event const*>(of)->work_left();
          if (!work) return false;
          left.runs += work->runs;
          left.reversals += work->reversals;
          return true;
        }};
    watcher(event{seen.what(), seen.phase(), seen.moment(), same});
  }

  std::function<void(event const&)> call_;
};

}  // namespace cairn::libtorch::detail
