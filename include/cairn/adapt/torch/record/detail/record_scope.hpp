// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_scope.hpp  While it lives, what the calling thread runs is recorded.
#include <memory>
#include <utility>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/saved_slot.hpp>

namespace cairn::libtorch::detail {

class record_scope {
 public:
  /// \param account  null without a limit   \param who  is named in errors
  /// \throws invalid_call   if this process cannot record: as `need_dispatch_mode` and
  ///   `host_memory::counted`
  record_scope(std::shared_ptr<byte_account> account, std::shared_ptr<record_totals> totals, char const* who)
      : record_{make(std::move(account), std::move(totals), who)},
        outer_{std::exchange(dispatch_mode::of_thread(), record_.get())},
        outer_call_{std::exchange(call_record::of_call(), record_.get())},
        on_{true},
        hooks_{[of = record_] { return std::make_unique<saved_slot>(of); }} {
    record_->factory = hook_engine::factories().back();
  }
  record_scope(record_scope const&) = delete;
  record_scope& operator=(record_scope const&) = delete;
  [[nodiscard]] call_record& record() const noexcept { return *record_; }
  ~record_scope() {
    dispatch_mode::of_thread() = outer_;
    call_record::of_call() = outer_call_;
    record_->end();
  }

 private:
  [[nodiscard]] static std::shared_ptr<call_record> make(std::shared_ptr<byte_account> account,
                                                         std::shared_ptr<record_totals> totals, char const* who) {
    need_dispatch_mode(who);
    if (account) {
      (void)host_memory::counted();
      byte_account::take_part(account);
    }
    ++totals->calls;
    totals->who = who;
    return std::make_shared<call_record>(std::move(account), std::move(totals), who);
  }

  std::shared_ptr<call_record> record_;
  dispatch_mode* outer_;
  call_record* outer_call_;
  dispatch_mode_scope on_;
  saved_hooks_scope hooks_;
};

}  // namespace cairn::libtorch::detail
