// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_scope.hpp  Records what the calling thread runs, as a call or as a region, and stands for what autograd
/// saves meanwhile.
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

class saved_slot final : public torch::autograd::SavedVariableHooks {
 public:
  explicit saved_slot(std::shared_ptr<call_record> of) : record_{std::move(of)} {}
  ~saved_slot() override {
    if (saved_.content >= 0) record_->release(saved_);
  }
  void call_pack_hook(at::Tensor const& t) override {
    dispatch_mode_scope const off{false};
    auto* const impl = t.unsafeGetTensorImpl();
    if (!t.is_inference()) counter_ = impl->version_counter(), version_ = counter_.current_version();
    saved_ = record_->save(t);
    if (saved_.content < 0) kept_ = bare(t);
    else if (saved_.verify) sum_ = sum_of(t);
  }
  at::Tensor call_unpack_hook() override {
    // LibTorch compares no versions where hooks are, so the sentence is its own.
    if (counter_.enabled() && counter_.current_version() != version_)
      TORCH_CHECK(false,
                  "one of the variables needed for gradient computation has been modified by an inplace "
                  "operation: it is at version ",
                  counter_.current_version(), "; expected version ", version_, " instead");
    auto t = record_->take(saved_);
    if (saved_.content < 0) return kept_;
    // The derivative of this adjoint saves it, as one that changes with the program's tensor.
    if (at::GradMode::is_enabled() && counter_.enabled()) t.unsafeGetTensorImpl()->set_version_counter(counter_);
    if (saved_.verify && sum_of(t) != sum_)
      throw invalid_call{record_->who(),
                         "a saved tensor that was made again has other bits than at first: something that no operator "
                         "shows, such as a raw pointer, has written to what it is made of",
                         {{"bytes", t.nbytes()}},
                         "hold what is written so by cairn::libtorch::pin"};
    return t;
  }

 private:
  [[nodiscard]] static std::uint64_t sum_of(at::Tensor const& t) {
    below_autograd const below;
    return hash_of_bits(t);
  }

  std::shared_ptr<call_record> record_;
  call_record::saved_tensor saved_;
  at::Tensor kept_;
  c10::VariableVersion counter_{c10::VariableVersion::DISABLED};
  std::uint32_t version_ = 0;
  std::uint64_t sum_ = 0;
};

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
    record_->factory = hook_engine::of_thread().factories.back();
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

template <class Fn>
class on_success {
 public:
  explicit on_success(Fn f) : f_{std::move(f)} {}
  on_success(on_success const&) = delete;
  on_success& operator=(on_success const&) = delete;
  ~on_success() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_) f_();
  }

 private:
  Fn f_;
  int exceptions_ = std::uncaught_exceptions();
};

/// Calls that have not run backward yet may outlive it. Copies share what they refer to.
struct recorded_verb {
  std::shared_ptr<byte_account> account = std::make_shared<byte_account>();
  std::shared_ptr<record_totals> totals = std::make_shared<record_totals>();

  /// Records `run(record)`, whose result it returns, and then says what is held since it cannot be made again.
  /// \param who  is named in errors   \param verify  whether what is made again is compared with what was saved
  template <class Run>
  decltype(auto) call(char const* who, bool verify, Run const& run) const {
    on_success const at_end{[&] { totals->tell_kept(); }};
    record_scope const scope{account, totals, who};
    scope.record().in_force.verify = verify;
    return run(scope.record());
  }
  [[nodiscard]] RecordReport report() const { return totals->report(*account); }
};

inline constexpr char const* region_name = "cairn::libtorch::checkpoint";

/// Counts of all regions that are no part of another call.
[[nodiscard]] inline std::shared_ptr<record_totals> const& region_totals() {
  static auto const& one = *new auto(std::make_shared<record_totals>());
  return one;
}

class region_scope {
 public:
  /// \param rules  what they name must outlive it   \param inputs  of the region: hooks around it hold them
  /// \param who  is named in errors
  region_scope(call_record::rules const& rules, bool keeps_leftovers, tensor_list const& inputs,
               char const* who = region_name) {
    need_saved_hooks(who);
    auto const& around = hook_engine::of_thread().factories;
    record_ = call_record::of_call();
    bool const is_part = record_ != nullptr && !around.empty() && around.back() == record_->factory;
    if (!is_part) {
      auto packed = packed_inputs(inputs);
      own_.emplace(nullptr, region_totals(), who);
      record_ = &own_->record();
      for (auto& [t, hooks] : packed) record_->is_packed(t, std::move(hooks));
    }
    outer_ = std::exchange(record_->in_force, rules);
    record_->open_region(!is_part, keeps_leftovers);
  }
  region_scope(region_scope const&) = delete;
  region_scope& operator=(region_scope const&) = delete;
  ~region_scope() {
    record_->in_force = outer_;
    if (!own_) record_->close_region();
  }

 private:
  using hooks_of_input = std::pair<at::Tensor, std::unique_ptr<torch::autograd::SavedVariableHooks>>;

  /// Those inputs that hooks can hold: tensors that fill a memory of their own.
  [[nodiscard]] static std::vector<hooks_of_input> packed_inputs(tensor_list const& inputs) {
    std::vector<hooks_of_input> all;
    if (hook_engine::of_thread().factories.empty()) return all;
    at::NoGradGuard const off;
    for (auto const& t : inputs) {
      if (!is_plain_memory(t) || t.nbytes() != t.storage().nbytes() || !t.is_non_overlapping_and_dense()) continue;
      auto hooks = torch::autograd::Engine::get_default_engine().get_default_saved_variable_hooks();
      if (!hooks) break;
      hooks->call_pack_hook(t.detach());
      all.emplace_back(t, std::move(hooks));
    }
    return all;
  }

  std::optional<record_scope> own_;
  call_record* record_;
  call_record::rules outer_;
};

}  // namespace cairn::libtorch::detail
