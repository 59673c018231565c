// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_record.hpp  One call of a program: what its operators read and made, so that what was dropped can be made
/// again.
#include <ATen/core/stack.h>
#include <algorithm>
#include <c10/util/flat_hash_map.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/adapt/torch/record/detail/draws.hpp>
#include <cairn/adapt/torch/record/detail/held_contents.hpp>
#include <cairn/adapt/torch/record/detail/layer_watch.hpp>
#include <cairn/adapt/torch/record/detail/layout_list.hpp>
#include <cairn/adapt/torch/record/detail/leaf_gradients.hpp>
#include <cairn/adapt/torch/record/detail/live_records.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/operator_run.hpp>
#include <cairn/adapt/torch/record/detail/plain_tensor.hpp>
#include <cairn/adapt/torch/record/detail/record_totals.hpp>
#include <cairn/adapt/torch/record/detail/recorded_operators.hpp>
#include <cairn/adapt/torch/record/detail/schema_facts.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The record of one call. It belongs to the tensors that autograd saved in the call. It never holds a tensor with a
/// history, which would hold the record in turn.
class call_record final : public dispatch_mode, public memory_reader, public byte_lender {
 public:
  /// \param account  its limit says when to drop something
  call_record(std::shared_ptr<byte_account> account, std::shared_ptr<record_totals> totals)
      : account_{std::move(account)}, totals_{std::move(totals)} {
    live_records::add(*this);
    account_->join(*this);
  }
  call_record(call_record const&) = delete;
  call_record& operator=(call_record const&) = delete;
  ~call_record() {
    live_records::remove(*this);
    if (!account_->leave(*this) || account_->passed() == 0 || account_->is_strict()) return;
    try {
      totals_->tell_passed(account_->limit(), account_->passed());
    } catch (...) {  // a notice ends no program
    }
  }
  /// The record of the call that the calling thread is in, or null.
  [[nodiscard]] static call_record*& of_call() {
    static thread_local call_record* one = nullptr;
    return one;
  }
  /// Shows what layers make, once the call is over.   \pre before the first operator
  void watch(std::shared_ptr<layer_watch> layers) noexcept { layers_ = std::move(layers); }

  // ---- forward
  /// Runs an operator of the program, and records it.
  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    auto const& facts = schema_facts::of(op);
    auto const given = torch::jit::last(stack, facts.writes.size());
    if (facts.is_ignored) {
      if (!given.empty() && given[0].isTensor() && given[0].toTensor().defined()) leaves_.note(given[0].toTensor());
      return op.redispatchBoxed(below, &stack);
    }
    if (facts.any_write)
      live_records::tell_others(*this, [&](auto const& tell) {
        for (std::size_t k = 0; k < given.size(); ++k)
          if (facts.writes[k])
            each_tensor(given[k], [&](at::Tensor const& t) {
              if (is_plain_memory(t)) tell(t);
            });
      });
    bool pinned = facts.is_foreign;
    {
      std::lock_guard const lock{access_};
      operators_.begin(op, facts, below);
      before_run(given, pinned);
    }
    at::Generator before;
    float seconds = 0;
    try {
      std::unique_lock<std::mutex> drawing;
      if (facts.draws) {
        if (!drawing_) drawing_.emplace(Rng::Preserve);
        drawing = std::unique_lock{drawing_access()};
        before = copy_of(generator_of(facts, given));
      }
      auto const begin = std::chrono::steady_clock::now();
      op.redispatchBoxed(below, &stack);
      seconds = std::chrono::duration<float>(std::chrono::steady_clock::now() - begin).count();
    } catch (...) {
      std::lock_guard const lock{access_};
      operators_.undo();
      throw;
    }
    {
      std::lock_guard const lock{access_};
      auto& one = operators_[operators_.size() - 1];
      one.seconds = seconds;
      one.generator = std::move(before);
      after_run(stack, pinned);
    }
    check_limit();
  }
  /// What to ask for in backward; the tensor itself must be held if the content is -1.
  struct saved_tensor {
    int content = -1, layout = -1, position = 0;
    bool has_gaps = false;  ///< its bits are no sign
  };
  [[nodiscard]] saved_tensor save(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    if (is_over_ || !is_plain_memory(t)) return {};
    ++totals_->saved;
    int const c = contents_.shown_by(t);
    check_values(c, t);
    auto& one = contents_[c];
    if (one.made_by < 0) return {};
    ++one.wanted;
    one.asked_at = operators_.size();
    wanted_at_.resize(std::size_t(operators_.size()));
    ++wanted_at_[std::size_t(one.made_by)];
    if (!is_there(one.kept)) held_.hold(c, t.storage(), false);
    int const layout = one.layout = layouts_.of(t, one.layout);
    one.is_mixed = one.is_mixed || (one.saved_layout >= 0 && one.saved_layout != layout);
    one.saved_layout = layout;
    return {c, layout, one.asked_at, operators_[one.made_by].facts->has_gaps && t.scalar_type() == at::kByte};
  }
  /// What the tensor holds is not made again but held: something that no operator shows has made it.
  void pin(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    if (is_plain_memory(t)) pin(contents_.shown_by(t), t.storage());
  }
  /// The call is over: forgets what no saved tensor needs.
  void end() {
    std::lock_guard const lock{access_};
    is_over_ = true;
    drawing_.reset();
    wanted_at_.resize(std::size_t(operators_.size()));
    position_ = operators_.size();
    last_wanted_ = operators_.size() - 1;
    contents_.note_versions();
    std::vector<int> open;
    for (int c = 0; c < contents_.size(); ++c)
      if (contents_[c].wanted > 0) open.push_back(c);
    std::vector<char> needed(std::size_t(operators_.size())), reached(std::size_t(contents_.size()));
    while (!open.empty()) {
      int const c = open.back();
      open.pop_back();
      int const by = contents_[c].made_by;
      if (std::exchange(reached[std::size_t(c)], 1) || by < 0 || std::exchange(needed[std::size_t(by)], 1)) continue;
      operators_.each_read(by, [&](int read) { open.push_back(read); });
    }
    for (int k = 0; k < operators_.size(); ++k) {
      if (needed[std::size_t(k)]) continue;
      for (auto& argument : operators_.arguments(k)) argument = {};
      operators_[k].generator = {};
    }
    for (int c = 0; c < contents_.size(); ++c)
      if (!reached[std::size_t(c)]) held_.drop(c);
    forget_above();
  }

  // ---- backward
  [[nodiscard]] at::Tensor take(saved_tensor const& saved) {
    int const c = saved.content;
    byte_account::take_part(account_);
    std::lock_guard const lock{access_};
    check_limit(leaves_.hand_over(*account_, account_->is_nearly_full()));
    position_ = saved.position;
    auto const& one = contents_[c];
    auto memory = one.is_part && contents_.has_only_known_writes(c) ? one.kept : available(c);
    if (!is_there(memory)) memory = make_again(c);
    return layouts_.over(saved.layout, std::move(memory));
  }
  /// A saved tensor is gone.
  void release(int c) {
    std::lock_guard const lock{access_};
    auto& one = contents_[c];
    if (one.made_by >= 0) --wanted_at_[std::size_t(one.made_by)];
    if (--one.wanted == 0 && (!is_over_ || !has_dropped_)) held_.drop(c);  // otherwise others may be made of it
    if (is_over_) forget_above();
  }

  // ---- others
  std::int64_t give_back(std::int64_t bytes) override {
    std::unique_lock const lock{access_, std::try_to_lock};
    if (!lock) return 0;
    auto const [freed, count] = held_.drop_some(bytes, is_over_ ? position_ : operators_.size(), is_over_);
    has_dropped_ = has_dropped_ || count > 0;
    totals_->dropped += count;
    return freed;
  }
  void is_changed_soon(at::Tensor const& t) override {
    std::lock_guard const lock{access_};
    auto* const cell = contents_.find(t);
    if (cell == nullptr) return;
    int const c = cell->current;
    auto& now = contents_[c];
    if (now.made_by < 0 && !now.is_own && is_there(now.kept) && now.is_read) {
      if (contents_.is_unchanged(c)) take_image(c, t.storage());
    } else if (now.made_by >= 0 && !now.is_own) {
      held_.drop(c);
    }
    contents_.cell_of(c).is_stale = true;
  }

 private:
  /// \param handed_over  bytes that are the caller's now, and were not part of what the program holds
  void check_limit(std::int64_t handed_over = 0) const {
    account_->settle(handed_over);
    if (account_->passed() > 0 && account_->is_strict())
      throw infeasible_budget{who,
                              "the program itself holds more than the limit",
                              {{"limit", account_->limit()}, {"least", account_->passed()}},
                              "the least that is named is the least until now"};
  }

  // ---- what a call reads and makes
  /// It is not made again, so it is held.
  void pin(int c, c10::Storage const& memory) {
    auto& one = contents_[c];
    if (one.made_by >= 0 && one.wanted > 0) wanted_at_[std::size_t(one.made_by)] -= one.wanted;
    held_.drop(c);
    one.made_by = -1;
    one.kept = memory;
    one.is_own = one.is_open = one.is_unchecked = false;
  }
  void take_image(int c, c10::Storage const& memory) {
    contents_[c].kept = copy_of(memory);
    contents_[c].is_own = true;
    ++totals_->images, totals_->image_bytes += contents_[c].bytes;
  }
  /// Values that no operator has written come through a raw pointer. That is looked for where a tensor is first read
  /// that has no values yet, or those of a factory.
  void check_values(int c, at::Tensor const& t) {
    auto& one = contents_[c];
    if (one.is_open) pin(c, t.storage());
    if (!one.is_unchecked) return;
    one.is_unchecked = false;
    memories none;
    auto const again = run_again(operators_, one.made_by, layouts_, none, [](int) { return false; });
    auto const& now = t.storage();
    bool const same = again.size() == 1 && again[0].second.nbytes() == now.nbytes() && now.device().is_cpu() &&
                      std::memcmp(again[0].second.data(), now.data(), now.nbytes()) == 0;
    if (!same) pin(c, now);
  }
  void before_run(c10::ArrayRef<c10::IValue> given, bool& pinned) {
    int const number = operators_.size() - 1;
    auto const& facts = *operators_[number].facts;
    if (pinned) totals_->keep(operators_[number].op.schema().name(), "is not an operator of LibTorch's own");
    written_.clear();
    for (std::size_t k = 0; k < given.size(); ++k) {
      auto const& value = given[k];
      bool has_tensor = false;
      auto const read = [&](at::Tensor const& t, std::size_t place, bool is_in_list) {
        if (!t.defined()) return;
        has_tensor = true;
        if (!is_plain_memory(t)) {
          if (!std::exchange(pinned, true))
            totals_->keep(operators_[number].op.schema().name(), "reads a tensor that is no plain memory");
          return;
        }
        leaves_.note(t);
        int const c = contents_.shown_by(t);
        if (facts.writes[k]) written_.emplace_back(c, &t);
        else check_values(c, t);
        bool is_first = true;
        for (auto const& one : operators_.tensors(number)) is_first = is_first && one.content != c;
        int const layout = contents_[c].layout = layouts_.of(t, contents_[c].layout);
        operators_.add(
            recorded_tensor{std::uint16_t(k), std::uint16_t(place), is_in_list, is_first, c, layout, number});
      };
      if (value.isTensor()) {
        read(value.toTensor(), 0, false);
        operators_.add(has_tensor ? c10::IValue{} : value);
      } else if (value.isTensorList() || value.isList()) {
        c10::ArrayRef<c10::IValue> const list = value.toListRef();
        for (std::size_t place = 0; place < list.size(); ++place)
          if (list[place].isTensor()) read(list[place].toTensor(), place, true);
        operators_.add(has_tensor ? c10::IValue{without_tensors(value)} : value);
      } else {
        operators_.add(value);
      }
    }
    for (auto const& [c, t] : written_) will_be_written(number, facts, c, *t);
    for (auto const& one : operators_.tensors(number)) contents_[one.content].is_read = true;
  }
  [[nodiscard]] static c10::impl::GenericList without_tensors(c10::IValue const& list) {
    c10::impl::GenericList like{list.toList().elementType()};
    for (auto const& one : list.toListRef()) like.push_back(one.isTensor() ? c10::IValue{at::Tensor{}} : one);
    return like;
  }
  /// No write of a second run touches the program's memory, and what the first one overwrites may be needed.
  void will_be_written(int number, schema_facts const& facts, int c, at::Tensor const& t) {
    for (auto const& w : operators_.writes(number))
      if (w.before == c) return;
    auto const tensors = operators_.tensors(number);
    auto const reads_it = std::count_if(tensors.begin(), tensors.end(), [&](auto const& r) { return r.content == c; });
    bool const whole = facts.overwrites && std::int64_t(t.nbytes()) == contents_[c].bytes &&
                       t.is_non_overlapping_and_dense() && reads_it == 1;
    if (!whole && (!facts.overwrites || contents_[c].is_unchecked)) check_values(c, t);
    if (layers_) layers_->is_changed_soon(t);
    operators_.add(recorded_write{c, -1, !whole, contents_[c].bytes});
    if (whole)
      for (auto& one : operators_.tensors(number)) one.is_needed = one.is_needed && one.content != c;
    int const layout = layouts_.of(t, contents_[c].layout);
    auto& cell = contents_.cell_of(c);
    for (std::size_t k = 0; k < cell.parts.size();) {  // drop() takes it out of the list
      int const part = cell.parts[k];
      if (layouts_.may_overlap(contents_[part].saved_layout, layout)) held_.drop(part);
      else ++k;
    }
    auto& old = contents_[c];
    if (old.is_own) return;
    if (old.made_by < 0) {
      if (!whole || old.is_read) take_image(c, t.storage());
    } else if (old.wanted == 0 || old.is_mixed || layouts_.may_overlap(old.saved_layout, layout)) {
      held_.drop(c);
    } else if (is_there(old.kept)) {  // LSTMs compute their gates in place, slice by slice
      old.is_part = true;
      cell.parts.push_back(c);
    }
  }
  void after_run(torch::jit::Stack const& stack, bool pinned) {
    int const number = operators_.size() - 1;
    auto const& facts = *operators_[number].facts;
    int place = 0;
    if (layers_) watch_layers(stack);
    for (auto const& value : torch::jit::last(stack, std::size_t(facts.results)))
      each_tensor(value, [&](at::Tensor const& t) {
        int const at = place++;
        if (!is_plain_memory(t)) return;
        if (facts.type >= 0)  // the default type of the process may be another one later
          if (auto& type = operators_.arguments(number)[std::size_t(facts.type)]; type.isNone()) type = t.scalar_type();
        int const c = contents_.made_by(number, t);
        if (c < 0) return;
        if (pinned) return pin(c, t.storage());
        auto& made = contents_[c];
        made.is_open = facts.leaves_open;
        made.is_unchecked = facts.is_factory;
        made.layout = layouts_.of(t, -1);
        operators_.add(recorded_result{at, c});
      });
    for (auto& w : operators_.writes(number)) {
      w.after = contents_.written_by(number, w.before);
      contents_[w.after].is_open = contents_[w.before].is_open && w.reads;
      contents_[w.after].layout = contents_[w.before].layout;
      if (pinned)
        if (auto memory = contents_.cell_of(w.after).memory.lock()) pin(w.after, c10::Storage{std::move(memory)});
    }
    if (pinned || (operators_.results(number).empty() && operators_.writes(number).empty())) return operators_.undo();
    operators_.finish();
    ++totals_->operators;
  }

  void watch_layers(torch::jit::Stack const& stack) {
    at::Tensor first;
    for (auto const& value : torch::jit::last(stack, std::size_t(operators_[operators_.size() - 1].facts->results)))
      each_tensor(value, [&](at::Tensor const& t) {
        if (!first.defined()) first = t;
      });
    if (!first.defined() || !is_plain_memory(first)) return;
    for (auto const& one : operators_.tensors(operators_.size() - 1))
      if (auto const memory = contents_.cell_of(one.content).memory.lock()) layers_->is_read(memory.get(), first);
  }

  // ---- what is held
  /// What was made after everything that is still wanted is needed no more.
  void forget_above() {
    for (; last_wanted_ >= 0 && wanted_at_[std::size_t(last_wanted_)] == 0; --last_wanted_)
      operators_.each_made(last_wanted_, [&](int c) {
        if (contents_[c].made_by >= 0) held_.drop(c);
      });
  }
  /// The memory of a content, if there is one: ours, or the program's, unchanged.
  [[nodiscard]] c10::Storage available(int c) {
    auto& one = contents_[c];
    if (is_there(one.kept) && !one.is_part) {
      if (one.is_own || contents_.is_unchanged(c)) return one.kept;
      if (one.made_by < 0)
        throw invalid_call{who,
                           "a tensor that the call read was changed in place between forward and backward, and is "
                           "needed to make again what was dropped",
                           {{"bytes", one.bytes}},
                           "change it after backward, or in the call"};
      held_.drop(c);
    }
    if (one.made_by >= 0 && contents_.is_unchanged(c))
      if (auto memory = contents_.cell_of(c).memory.lock()) return c10::Storage{std::move(memory)};
    return {};
  }

  // ---- second runs
  [[nodiscard]] c10::Storage make_again(int target) {
    memories at_hand;
    std::vector<int> open{target}, order;
    ska::flat_hash_map<int, int> uses;
    ska::flat_hash_set<int> seen;
    while (!open.empty()) {
      int const c = open.back();
      open.pop_back();
      if (at_hand.count(c) != 0) continue;
      if (auto memory = available(c); is_there(memory)) {
        at_hand.emplace(c, std::move(memory));
        continue;
      }
      int const by = contents_[c].made_by;
      if (by < 0) throw invalid_call{who, "a tensor that the call read is gone", {}, "keep it until backward"};
      if (!seen.insert(by).second) continue;
      order.push_back(by);
      operators_.each_read(by, [&](int read) { ++uses[read], open.push_back(read); });
    }
    std::sort(order.begin(), order.end());
    c10::Storage found;
    for (int const number : order) {
      operators_.each_read(number, [&](int read) { --uses[read]; });
      auto made = run_again(operators_, number, layouts_, at_hand, [&](int c) { return uses[c] == 0; });
      ++totals_->again;
      for (auto& [c, memory] : made) {
        if (c == target) found = memory;
        if (contents_[c].wanted > 0 && !is_there(contents_[c].kept)) held_.hold(c, memory, true);
        if (auto const use = uses.find(c); use != uses.end() && use->second > 0) at_hand[c] = std::move(memory);
      }
      made.clear();
      operators_.each_read(number, [&](int read) {
        if (uses[read] == 0) at_hand.erase(read);
      });
    }
    return found;
  }

  static constexpr char const* who = "cairn::libtorch::checkpoint_module";

  std::shared_ptr<byte_account> account_;
  std::shared_ptr<record_totals> totals_;
  std::recursive_mutex access_;  ///< an operator that runs again asks for memory, which this record gives back
  memory_cells contents_;
  recorded_operators operators_;
  layout_list layouts_;
  leaf_gradients leaves_;
  held_contents held_{contents_, operators_};
  std::shared_ptr<layer_watch> layers_;
  std::optional<generator_use> drawing_;  ///< from the first operator that draws to the end of the call
  std::vector<std::pair<int, at::Tensor const*>> written_;  ///< by the operator that runs
  std::vector<int> wanted_at_;                              ///< saved tensors, by the operator that made their content
  int position_ = 0, last_wanted_ = -1;
  bool is_over_ = false, has_dropped_ = false;
};

}  // namespace cairn::libtorch::detail
