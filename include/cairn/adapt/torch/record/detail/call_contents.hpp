// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_contents.hpp  What the operators of one call read and made: contents of memory, which are held, and
/// outputs of layers, by name.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <c10/core/Storage.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/record/detail/held_contents.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/operator_run.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Whether a name matches a pattern, in which `*` matches any characters, or none.
[[nodiscard]] inline bool name_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resumed = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, resumed = n;
    else if (p < pattern.size() && pattern[p] == name[n]) ++p, ++n;
    else if (star != std::string_view::npos) p = star + 1, n = ++resumed;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Names of parts that are held; `*` matches any characters. Without a value all parts are held.
using kept_names = std::optional<std::vector<std::string>>;
[[nodiscard]] inline bool is_among(kept_names const& names, std::string_view name) {
  if (!names) return true;
  for (auto const& pattern : *names)
    if (name_matches(pattern, name)) return true;
  return false;
}

class layer_watch {
 public:
  /// \param is_watched  whether a layer of this name is asked for
  layer_watch(torch::nn::Module const& module, std::function<bool(std::string_view)> const& is_watched) {
    auto const add = [&](std::string const& name, at::Tensor const& t) {
      if (!is_plain_memory(t)) return;
      for (auto dot = name.rfind('.'); dot != name.npos && dot != 0; dot = name.rfind('.', dot - 1))
        if (auto layer = name.substr(0, dot); is_watched(layer))
          readers_[t.storage().unsafeGetStorageImpl()].push_back(std::move(layer));
    };
    for (auto const& one : module.named_parameters()) add(one.key(), one.value());
    for (auto const& one : module.named_buffers()) add(one.key(), one.value());
  }
  /// An operator has read a memory, and made a result.
  void is_read(c10::StorageImpl const* memory, at::Tensor const& result) {
    auto const found = readers_.find(memory);
    if (found == readers_.end()) return;
    ++turn_;
    for (auto const& layer : found->second) last_[layer] = {turn_, result};
  }
  /// A tensor is about to be changed in place: outputs that lie in its memory are kept as they are.
  void is_changed_soon(at::Tensor const& t) {
    for (auto& [layer, one] : last_) {
      auto& output = one.second;
      if (output.storage().unsafeGetStorageImpl() != t.storage().unsafeGetStorageImpl()) continue;
      below_autograd const below;
      output = output.clone();
    }
  }
  /// Calls `show(layer, output)` for each layer, in the order in which they ended.
  void show(std::function<void(std::string const&, at::Tensor const&)> const& show) const {
    std::map<std::uint64_t, std::vector<std::string>> order;
    for (auto const& [layer, one] : last_) order[one.first].push_back(layer);
    for (auto const& [turn, layers] : order)
      for (auto const& layer : layers) show(layer, last_.at(layer).second.detach());
  }

 private:
  std::unordered_map<c10::StorageImpl const*, std::vector<std::string>> readers_;
  std::map<std::string, std::pair<std::uint64_t, at::Tensor>> last_;
  std::uint64_t turn_ = 0;
};

class outside_values {
 public:
  outside_values(memory_cells& contents, layout_list& layouts) : contents_{contents}, layouts_{layouts} {}

  /// Hooks of the program hold a content.   \param t  shows it, and fills its memory
  void pack(int c, at::Tensor const& t, std::unique_ptr<torch::autograd::SavedVariableHooks> hooks) {
    if (!std::exchange(contents_[c].is_packed, true)) packed_.push_back({c, layouts_.of(t, -1), std::move(hooks)});
  }
  /// The call is over: what hooks hold need not be held here, unless the call has changed it.
  void leave_to_hooks() {
    for (auto const& one : packed_) {
      auto& input = contents_[one.content];
      if (input.is_own) input.is_packed = false;  // there is a copy
      else input.kept = {};
    }
  }
  /// The memory of a content that hooks hold.
  [[nodiscard]] c10::Storage unpacked(int c) const {
    auto const one = std::find_if(packed_.begin(), packed_.end(), [&](auto const& p) { return p.content == c; });
    auto const values = one->hooks->call_unpack_hook();
    below_autograd const below;
    auto memory = at::empty({contents_[c].bytes}, values.options().dtype(at::kByte)).storage();
    layouts_.over(one->layout, memory).copy_(values);
    return memory;
  }

  /// Notes some values of a parameter that is read.   \param layout  of t
  void note(int c, int layout, at::Tensor const& t) {
    auto& one = contents_[c];
    if (one.made_by >= 0 || one.is_sampled || !t.requires_grad() || !t.is_leaf()) return;
    one.is_sampled = true;
    samples_.push_back({c, layout, hash_of_sample(t)});
  }
  /// Optimisers may write to parameters through `data()`, which counts as no change.
  /// \throws invalid_call   if some values of a parameter are others now
  void check(int c, char const* who) const {
    auto const& one = contents_[c];
    if (!one.is_sampled || one.is_own || !is_there(one.kept)) return;
    for (auto const& sample : samples_)
      if (sample.content == c && hash_of_sample(layouts_.over(sample.layout, one.kept)) != sample.sum)
        throw invalid_call{who, rewritten, {{"bytes", one.bytes}}, rewritten_advice};
  }

 private:
  struct packed_input {
    int content, layout;
    std::unique_ptr<torch::autograd::SavedVariableHooks> hooks;
  };
  struct sampled_parameter {
    int content, layout;
    std::uint64_t sum;
  };
  memory_cells& contents_;
  layout_list& layouts_;
  std::vector<packed_input> packed_;
  std::vector<sampled_parameter> samples_;
};

/// The operators of a call, and the contents that they read and made. What an operator writes in place is another
/// content of the same memory; what was there is kept as a copy where a second run may need it.
class call_contents {
 public:
  [[nodiscard]] char const* who() const noexcept { return who_; }
  [[nodiscard]] recorded_operators& operators() noexcept { return operators_; }
  [[nodiscard]] memory_cells const& contents() const noexcept { return contents_; }
  [[nodiscard]] layout_list const& layouts() const noexcept { return layouts_; }

 protected:
  /// \param who  is named in errors
  call_contents(std::shared_ptr<record_totals> totals, char const* who) : totals_{std::move(totals)}, who_{who} {}
  ~call_contents() = default;

  /// Notes the last operator's arguments.
  /// \param pinned  whether what it makes is held; set if it reads what cannot be recorded   \param read_too(c, t)
  ///   called for each tensor that it reads or writes, before it is noted
  template <class ReadToo>
  void before_run(c10::ArrayRef<c10::IValue> given, bool& pinned, ReadToo const& read_too) {
    int const number = operators_.size() - 1;
    auto const& facts = *operators_[number].facts;
    bool const records = at::GradMode::is_enabled();
    operators_[number].sequence = at::sequence_number::peek();
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
        int const c = contents_.shown_by(t);
        bool const noise = int(k) == facts.noise && given[k + 3].toBool() && given[0].toTensor().sizes() == t.sizes();
        if (facts.writes[k]) written_.emplace_back(c, &t, facts.overwrites || noise);
        else check_values(c, t);
        read_too(c, t);
        operators_[number].has_adjoint |= records && t.requires_grad();
        bool is_first = true;
        for (auto const& one : operators_.tensors(number)) is_first = is_first && one.content != c;
        int const layout = contents_[c].layout = layouts_.of(t, contents_[c].layout);
        outside_.note(c, layout, t);
        operators_.add(
            recorded_tensor{std::uint16_t(k), std::uint16_t(place), is_in_list, is_first, c, layout, number});
      };
      if (facts.is_like && k == 0 && is_plain_memory(value.toTensor())) {
        operators_.add(layouts_.form_of(value.toTensor()));
      } else if (value.isTensor()) {
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
    for (auto const& [c, t, overwrites] : written_) will_be_written(number, overwrites, c, *t);
    for (auto const& one : operators_.tensors(number)) contents_[one.content].is_read = true;
  }
  /// Notes what the last operator has made.   \returns whether it can run again; otherwise it is forgotten
  [[nodiscard]] bool after_run(torch::jit::Stack const& stack, bool pinned) {
    int const number = operators_.size() - 1;
    auto const& facts = *operators_[number].facts;
    int place = 0;
    auto const read = operators_.tensors(number);
    int const like = read.empty() ? -1 : read.front().layout;
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
        made.layout = layouts_.of(t, like);
        operators_.add(recorded_result{at, c});
      });
    for (auto& w : operators_.writes(number)) {
      if (!pinned && !w.reads && contents_[w.before].is_open && contents_[w.before].wanted > 0) {
        w.after = w.before;  // it was saved before
        is_made_by(w.after, number);
        continue;
      }
      w.after = contents_[w.before].next = contents_.written_by(number, w.before);
      contents_[w.after].is_open = contents_[w.before].is_open && w.reads;
      contents_[w.after].layout = contents_[w.before].layout;
      if (pinned)
        if (auto memory = contents_.cell_of(w.after).memory.lock()) pin(w.after, c10::Storage{std::move(memory)});
    }
    if (pinned || (operators_.results(number).empty() && operators_.writes(number).empty())) {
      operators_.undo();
      return false;
    }
    operators_.finish();
    look_at_unwritten();
    ++totals_->operators;
    return true;
  }
  /// It is not made again, so it is held.
  void pin(int c, c10::Storage const& memory) {
    held_.drop(c);
    is_made_by(c, -1);
    contents_[c].kept = memory;
    contents_[c].is_own = contents_[c].is_unchecked = false;
  }
  /// Tensors without values that autograd saved: the next operator writes them, as RReLU does its noise, or a raw
  /// pointer has.
  void look_at_unwritten() {
    for (auto const& [c, memory] : unwritten_)
      if (contents_[c].is_open) pin(c, memory);
    unwritten_.clear();
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
    auto const nowhere = [](int, c10::Storage const&) { return false; };
    auto const again = run_again(operators_, one.made_by, layouts_, none, nowhere);
    auto const& now = t.storage();
    bool const same = again.size() == 1 && again[0].second.nbytes() == now.nbytes() && now.device().is_cpu() &&
                      std::memcmp(again[0].second.data(), now.data(), now.nbytes()) == 0;
    if (!same) pin(c, now);
  }
  /// The memory of a content, if there is one: ours, or the program's, unchanged.
  [[nodiscard]] c10::Storage available(int c) {
    auto& one = contents_[c];
    if (one.is_packed && is_over_ && !is_there(one.kept)) return outside_.unpacked(c);
    if (is_there(one.kept) && !one.is_part) {
      if (one.is_own || contents_.is_unchanged(c)) return one.kept;
      if (one.made_by < 0)
        throw invalid_call{who_,
                           "a tensor that was read was changed in place before backward, and is needed to make again "
                           "what was not held",
                           {{"bytes", one.bytes}},
                           "change it after backward, or in the call"};
      held_.drop(c);
    }
    if (one.made_by >= 0 && contents_.is_unchanged(c))
      if (auto memory = contents_.cell_of(c).memory.lock()) return c10::Storage{std::move(memory)};
    return {};
  }
  /// What a tensor shows that was saved with a content: also what was written to it by what counts as no change.
  [[nodiscard]] int shown_with(int c) {
    for (int k = contents_[c].next; k >= 0; k = contents_[k].next) {
      if (contents_[k].made_by < 0 || contents_[c].is_mixed) return contents_.cell_of(c).current;
      for (auto const& t : operators_.tensors(contents_[k].made_by))
        if (contents_[t.content].next == k && layouts_.may_overlap(contents_[c].saved_layout, t.layout))
          return contents_.cell_of(c).current;
    }
    return c;
  }
  /// Of an operator: calls with the same ones have the same contents, which take the same bytes.
  [[nodiscard]] std::uint64_t hash_of(int number) {
    std::uint64_t hash = std::uint64_t(reinterpret_cast<std::uintptr_t>(operators_[number].facts));
    auto const add = [&](int c) {
      for (auto const x : {std::uint64_t(c), std::uint64_t(contents_[c].bytes)})
        hash = (hash ^ (hash >> 32) ^ x) * 0xd6e8feb86659fd93;
    };
    for (auto const& one : operators_.tensors(number)) add(one.content);
    operators_.each_made(number, add);
    return hash;
  }

  std::shared_ptr<record_totals> totals_;
  char const* who_;
  memory_cells contents_;
  recorded_operators operators_;
  layout_list layouts_;
  held_contents held_{contents_, operators_};
  outside_values outside_{contents_, layouts_};
  std::shared_ptr<layer_watch> layers_;
  std::vector<int> wanted_at_;  ///< saved tensors, by the operator that made their content
  std::vector<std::pair<int, c10::Storage>> unwritten_;
  bool is_over_ = false;

 private:
  /// The operator that makes it is another one than was thought; -1: it is not made again.
  void is_made_by(int c, int number) {
    auto& one = contents_[c];
    wanted_at_.resize(std::size_t(operators_.size()));
    if (one.made_by >= 0) wanted_at_[std::size_t(one.made_by)] -= one.wanted;
    if (number >= 0) wanted_at_[std::size_t(number)] += one.wanted;
    one.made_by = number;
    one.is_open = false;
  }
  [[nodiscard]] static c10::impl::GenericList without_tensors(c10::IValue const& list) {
    c10::impl::GenericList like{list.toList().elementType()};
    for (auto const& one : list.toListRef()) like.push_back(one.isTensor() ? c10::IValue{at::Tensor{}} : one);
    return like;
  }
  /// No write of a second run touches the program's memory, and what the first one overwrites may be needed.
  void will_be_written(int number, bool overwrites, int c, at::Tensor const& t) {
    for (auto const& w : operators_.writes(number))
      if (w.before == c) return;
    auto const tensors = operators_.tensors(number);
    auto const reads_it = std::count_if(tensors.begin(), tensors.end(), [&](auto const& r) { return r.content == c; });
    bool const whole = overwrites && std::int64_t(t.nbytes()) == contents_[c].bytes &&
                       t.is_non_overlapping_and_dense() && reads_it == 1;
    if (!whole && (!overwrites || contents_[c].is_unchecked)) check_values(c, t);
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
    if (old.is_own || (whole && old.is_open)) return;
    if (old.is_kept && is_there(old.kept)) {
      old.kept = copy_of(t.storage());
      old.is_own = true;
    } else if (old.made_by < 0) {
      if (!whole || old.is_read) take_image(c, t.storage());
    } else if (old.wanted == 0 || old.is_mixed || layouts_.may_overlap(old.saved_layout, layout)) {
      held_.drop(c);
    } else if (is_there(old.kept)) {  // LSTMs compute their gates in place, slice by slice
      old.is_part = true;
      cell.parts.push_back(c);
    }
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

  /// What the operator that runs writes to, and whether as a whole.
  std::vector<std::tuple<int, at::Tensor const*, bool>> written_;
};

}  // namespace cairn::libtorch::detail
