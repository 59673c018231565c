// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_record.hpp  One call of a program: what its operators read and made, so that what was dropped can be made
/// again.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/flat_hash_map.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>
#include <cairn/adapt/torch/record/detail/call_contents.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/operator_run.hpp>
#include <cairn/adapt/torch/record/detail/record_regions.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The records of a process. One may have read what somebody else is about to write to; versions do not show all
/// writes, such as those by `data()`.
template <class Record>
class live_records {
 public:
  static void add(Record& one) {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    of.all.push_back(&one);
    one.began_ = of.over;
    ++of.open;
  }
  /// The call of a record is over: it reads nothing more.
  static void end() {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    --of.open;
    ++of.over;
  }
  static void remove(Record& one) {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    std::erase(of.all, &one);
  }
  /// Tells all but one of them. `each_written(visit)` visits the tensors that are written to.
  template <class Each>
  static void tell_others(Record& writer, Each const& each_written) {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    if (of.all.size() < 2) return;
    bool const is_alone = of.open == 1 && of.over == writer.began_;  // nobody else has run since it began
    each_written([&](at::Tensor const& t) {
      if (is_alone && writer.has_made(t)) return;
      for (auto* const other : of.all)
        if (other != &writer) other->is_changed_soon(t);
    });
  }

 private:
  struct records {
    std::mutex access;
    std::vector<Record*> all;
    int open = 0;            ///< calls that are not over
    std::uint64_t over = 0;  ///< number of those that are
  };
  [[nodiscard]] static records& of_process() {
    static auto* const one = new records;
    return *one;
  }
};

/// The leaves that the operators of a call have read.
class leaf_gradients {
 public:
  void note(at::Tensor const& t) {
    auto* const impl = t.unsafeGetTensorImpl();
    if (!impl->requires_grad() || !t.is_leaf() || !known_.insert(impl).second) return;
    waiting_.emplace_back(t.getIntrusivePtr());
  }
  /// Hands those gradients over that backward has made since the last time, and settles the account.
  /// \param all  looks at all leaves, and not only at some that were read last, whose gradients come first
  /// \pre this thread is not accumulating a gradient
  void hand_over(byte_account& account, bool all) {
    std::int64_t bytes = 0;
    int misses = 0;
    found_.clear();
    for (std::size_t k = waiting_.size(); k-- > 0 && (all || misses < 8);)
      if (is_done(waiting_[k], account, bytes)) waiting_.erase(waiting_.begin() + std::ptrdiff_t(k));
      else ++misses;
    std::vector<node_blocks::block> wrong;
    if (auto* const node = byte_account::blocks_of_thread()) wrong = node->end(found_, account.gradients());
    for (auto const& one : wrong) bytes -= one.bytes;  // they may have been there with the most
    account.settle(bytes);
    for (auto const& one : wrong) host_memory::counted().count(one.address, account);
  }

 private:
  using weak_leaf = c10::weak_intrusive_ptr<at::TensorImpl, c10::UndefinedTensorImpl>;

  /// The lock of a node, under which LibTorch writes the gradient.
  struct node_lock : torch::autograd::Node {
    [[nodiscard]] static std::mutex& of(torch::autograd::Node& node) { return node.*(&node_lock::mutex_); }
  };
  [[nodiscard]] bool is_done(weak_leaf const& leaf, byte_account& account, std::int64_t& bytes) {
    auto strong = leaf.lock();
    if (!strong || strong.get() == c10::UndefinedTensorImpl::singleton()) return true;
    at::Tensor const t{std::move(strong)};
    auto const node = torch::autograd::impl::try_get_grad_accumulator(t);
    if (node == nullptr) return false;
    std::lock_guard const lock{node_lock::of(*node)};
    auto const& gradient = t.grad();
    if (!gradient.defined() || !gradient.has_storage()) return false;
    auto const* const address = gradient.storage().data_ptr().get();
    bytes += host_memory::counted().hand_over(address, account);
    found_.push_back(address);
    return true;
  }

  ska::flat_hash_set<void const*> known_;
  std::vector<weak_leaf> waiting_;
  std::vector<void const*> found_;  ///< addresses of gradients
};

/// The record of one call. It belongs to the tensors that autograd saved in the call. It never holds a tensor with a
/// history, which would hold the record in turn.
class call_record final : public call_contents,
                          public dispatch_mode,
                          public byte_lender,
                          public std::enable_shared_from_this<call_record> {
 public:
  /// \param account  its limit says when to drop something; null without a limit   \param who  is named in errors
  call_record(std::shared_ptr<byte_account> account, std::shared_ptr<record_totals> totals, char const* who)
      : call_contents{std::move(totals), who}, account_{std::move(account)} {
    live_records<call_record>::add(*this);
    if (!account_) return;
    account_->join(*this);
    if (auto* const node = byte_account::blocks_of_thread()) node->close();
  }
  call_record(call_record const&) = delete;
  call_record& operator=(call_record const&) = delete;
  ~call_record() {
    live_records<call_record>::remove(*this);
    if (!account_ || !account_->leave(*this) || account_->passed() == 0 || account_->is_strict()) return;
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
  /// Drops what is inside of blocks, in place of what costs least.   \pre before the first operator
  void divide(std::shared_ptr<record_blocks> blocks) noexcept { blocks_ = std::move(blocks); }
  saved_hooks_factory const* factory = nullptr;  ///< of what is saved in the call

  // ---- regions
  /// What holds of the operators that run now.
  struct rules {
    checkpoint_policy const* policy = nullptr;  ///< which results are held
    kept_names const* names = nullptr;          ///< which parts are held; null for all
    bool verify = false;                        ///< whether what is made again is compared with what was saved
    bool in_kept_part = false;
  };
  rules in_force;
  /// \param is_call  whether the call itself is the region
  void open_region(bool is_call, bool keeps_leftovers) {
    std::lock_guard const lock{access_};
    is_call ? regions_.drop_all(keeps_leftovers) : regions_.open(keeps_leftovers);
  }
  void close_region() {
    std::lock_guard const lock{access_};
    regions_.close();
  }
  [[nodiscard]] bool is_in_region() const { return regions_.drops_now(); }
  /// Whether what is saved now is not held, unless it is said to be.
  [[nodiscard]] bool drops_parts() const { return is_in_region() || blocks_; }
  /// What a tensor holds is held as long as its region lives, or until its block is done.
  void keep(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    if (is_plain_memory(t)) keep(contents_.shown_by(t));
  }
  /// Hooks of the program hold an input of the region.   \pre before the first operator
  void is_packed(at::Tensor const& t, std::unique_ptr<torch::autograd::SavedVariableHooks> hooks) {
    std::lock_guard const lock{access_};
    outside_.pack(contents_.shown_by(t), t, std::move(hooks));
  }

  // ---- forward
  /// Runs an operator of the program, and records it.
  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    auto const& facts = schema_facts::of(op);
    auto const given = torch::jit::last(stack, facts.writes.size());
    if (facts.is_ignored) {
      if (account_ && !given.empty() && given[0].isTensor() && given[0].toTensor().defined())
        leaves_.note(given[0].toTensor());
      return op.redispatchBoxed(below, &stack);
    }
    if (facts.any_write)
      live_records<call_record>::tell_others(*this, [&](auto const& tell) {
        for (std::size_t k = 0; k < given.size(); ++k)
          if (facts.writes[k])
            each_tensor(given[k], [&](at::Tensor const& t) {
              if (is_plain_memory(t)) tell(t);
            });
      });
    // Whoever writes a region says that it can run again, and all that is in it.
    bool const is_guest = facts.is_foreign && !facts.any_write && is_in_region();
    bool pinned = facts.is_foreign && !is_guest;
    bool const saves =
        in_force.policy != nullptr && !in_force.in_kept_part && !facts.leaves_open && policy_saves(op, given);
    {
      std::lock_guard const lock{access_};
      operators_.begin(op, facts, below);
      if (int const number = operators_.size() - 1; blocks_ && blocks_->ends_at(number)) {
        close_block(blocks_->first(), number, [](int) { return false; });
        blocks_->begin_at(number);
      }
      before_run(given, pinned, [&](int c, at::Tensor const& t) {
        if (account_) leaves_.note(t);
        if (blocks_) hold_if_it_passes(c, t);
      });
    }
    drawn_generator before;
    float seconds = 0;
    auto* const call = of_call();
    if (facts.is_foreign) of_call() = nullptr;  // it may have regions in it
    try {
      std::unique_lock<std::mutex> drawing;
      std::optional<draws_of_guest> guest;
      if (facts.draws || is_guest) {
        if (!drawing_) drawing_.emplace(Rng::Preserve);
        if (is_guest) guest.emplace(given);
        else drawing = std::unique_lock{drawing_access()};
        before = drawn_generator{generator_of(facts, given)};
      }
      auto const begin = account_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
      op.redispatchBoxed(below, &stack);
      of_call() = call;
      if (account_) seconds = std::chrono::duration<float>(std::chrono::steady_clock::now() - begin).count();
      if (guest && !guest->are_of(before)) before = {};
      if (guest && (guest->are_of_others(before) || (before.defined() && drawing_->overlaps()))) pinned = true;
    } catch (...) {
      of_call() = call;
      std::lock_guard const lock{access_};
      operators_.undo();
      throw;
    }
    {
      std::lock_guard const lock{access_};
      auto& one = operators_[operators_.size() - 1];
      one.seconds = seconds;
      one.generator = std::move(before);
      if (after_run(stack, pinned)) {
        int const number = operators_.size() - 1;
        if (blocks_) blocks_->ran(hash_of(number));
        if (saves) operators_.each_made(number, [&](int c) { keep(c); });
      }
      sequence_ = at::sequence_number::peek();
    }
    if (account_) account_->settle(), check_limit();
  }
  /// What to ask for in backward; the tensor itself must be held if the content is -1.
  struct saved_tensor {
    int content = -1, layout = -1, position = 0;
    int region = 0, place = -1;  ///< place in a region
    bool verify = false;
    int by = 0;  ///< the operator whose adjoint asks for it
  };
  [[nodiscard]] saved_tensor save(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    saved_tensor outside{-1, -1, operators_.size()};
    // The node of an operator is made before it saves inputs and runs, and its results are saved before the next one.
    outside.by = operators_.size() - int(at::sequence_number::peek() == sequence_);
    if (is_over_ || !is_plain_memory(t)) return outside;
    ++totals_->saved;
    int const c = contents_.shown_by(t);
    auto& one = contents_[c];
    if (one.is_open) unwritten_.emplace_back(c, t.storage());
    else check_values(c, t);
    if (!one.can_be_made()) return outside;
    ++one.wanted;
    one.is_kept = one.is_kept || (blocks_ && in_force.in_kept_part);
    bool const holds = in_force.in_kept_part || !is_in_region();
    saved_tensor saved{c, -1, 0, regions_.now(), regions_.add(c, holds), in_force.verify && !one.is_open, outside.by};
    one.asked_at = saved.position = operators_.size();
    if (one.made_by >= 0) {
      saves_.push_back({c, outside.by});
      wanted_at_.resize(std::size_t(operators_.size()));
      ++wanted_at_[std::size_t(one.made_by)];
      saved.verify = saved.verify && !(operators_[one.made_by].facts->has_gaps && t.scalar_type() == at::kByte);
      if (holds && !is_there(one.kept)) held_.hold(c, t.storage(), false);
    }
    saved.layout = one.layout = layouts_.of(t, one.layout);
    one.is_mixed = one.is_mixed || (one.saved_layout >= 0 && one.saved_layout != saved.layout);
    one.saved_layout = saved.layout;
    return saved;
  }
  /// What the tensor holds is not made again but held: something that no operator shows has made it.
  void pin(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    if (is_plain_memory(t)) call_contents::pin(contents_.shown_by(t), t.storage());
  }
  /// The call is over: forgets what no saved tensor needs.
  void end() {
    live_records<call_record>::end();
    std::lock_guard const lock{access_};
    regions_.close_all();
    look_at_unwritten();
    is_over_ = true;
    drawing_.reset();
    wanted_at_.resize(std::size_t(operators_.size()));
    position_ = operators_.size();
    last_wanted_ = operators_.size() - 1;
    contents_.note_versions();
    std::vector<int> open;
    for (int c = 0; c < contents_.size(); ++c)
      if (contents_[c].wanted > 0) open.push_back(c), open.push_back(shown_with(c));
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
    regions_.leave_out_others(std::move(reached));
    outside_.leave_to_hooks();
    forget_above();
  }

  /// What the blocks are, at the end of the call.
  /// \param ends, told  as for `record_blocks::settle`
  void settle(std::vector<int> ends, std::function<void(int block, bool again)> told) {
    std::lock_guard const lock{access_};
    blocks_->settle(std::move(ends), std::move(told));
    std::vector<char> passes(std::size_t(contents_.size()));
    auto const note = [&](int c, int by) {
      if (contents_[c].made_by >= 0 && blocks_->of(contents_[c].made_by) < blocks_->of(by)) passes[std::size_t(c)] = 1;
    };
    for (int k = 0; k < operators_.size(); ++k) operators_.each_read(k, [&](int c) { note(c, k); });
    for (auto const& one : saves_) note(one.content, one.by);
    for (int c = 0; c < contents_.size(); ++c)
      if (passes[std::size_t(c)] && !is_there(contents_[c].kept))
        if (auto memory = available(c); is_there(memory)) held_.hold(c, std::move(memory), false);
    for (int block = 0; block + 1 < blocks_->size(); ++block) {
      auto const [first, last] = blocks_->operators_of(block);
      close_block(first, last, [&](int c) { return passes[std::size_t(c)] != 0; });
    }
  }
  /// What autograd saved, and for which operator.
  struct save_note {
    int content, by;
  };
  [[nodiscard]] std::vector<save_note> const& saves() const noexcept { return saves_; }

  // ---- backward
  /// The saved tensor, if its content is not -1.   \pre its version is that of then
  [[nodiscard]] at::Tensor take(saved_tensor& saved) {
    if (account_) byte_account::take_part(account_);
    std::lock_guard const lock{access_};
    if (account_) leaves_.hand_over(*account_, account_->is_nearly_full()), check_limit();
    is_asked_by(saved.by);
    position_ = saved.position;
    at::Tensor found;
    if (saved.content >= 0) {
      int const c = shown_with(saved.content);
      if (c != saved.content || contents_.cell_of(c).is_stale) saved.verify = false;
      auto const& one = contents_[c];
      c10::Storage memory;
      if (auto now = contents_.cell_of(c).memory.lock(); now && !one.is_packed) memory = c10::Storage{std::move(now)};
      else memory = one.is_part && (one.is_own || contents_.has_only_known_writes(c)) ? one.kept : available(c);
      if (!is_there(memory)) memory = make_again(saved.region, c, {c});
      found = layouts_.over(saved.layout, std::move(memory));
      regions_.is_given(saved.region, saved.place);
    }
    if (auto* const node = byte_account::blocks_of_thread(); node != nullptr && account_) {
      auto const name = node_of(saved);
      node->begin(name, account_->gradients().of(name));
    }
    return found;
  }
  /// A saved tensor is gone.
  void release(saved_tensor const& saved) {
    std::lock_guard const lock{access_};
    int const c = saved.content;
    auto& one = contents_[c];
    --one.wanted;
    if (one.made_by >= 0) --wanted_at_[std::size_t(one.made_by)];
    bool const is_plain = regions_.is_released(saved.region, saved.place, c);
    // Otherwise others may be made of it.
    if (is_plain && one.due == 0 && one.can_be_made() && (!is_over_ || !has_dropped_)) held_.drop(c);
    if (is_over_) forget_above();
  }
  /// A backward pass is over.
  void end_pass(int pass) {
    std::lock_guard const lock{access_};
    regions_.end_pass(pass);
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
  /// Whether its own operators have made the memory of the tensor.
  [[nodiscard]] bool has_made(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    auto const* const cell = contents_.find(t);
    return cell != nullptr && cell->is_ours;
  }
  void is_changed_soon(at::Tensor const& t) {
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
  friend live_records<call_record>;

  void check_limit() const {
    if (account_->passed() > 0 && account_->is_strict())
      throw infeasible_budget{who_,
                              "the program itself holds more than the limit",
                              {{"limit", account_->limit()}, {"least", account_->passed()}},
                              "the least that is named is the least until now"};
  }

  [[nodiscard]] bool policy_saves(c10::OperatorHandle const& op, c10::ArrayRef<c10::IValue> given) const {
    auto const said = (*in_force.policy)(operator_call(op.schema().name(), given));
    return said == CheckpointPolicy::MustSave || said == CheckpointPolicy::PreferSave;
  }
  void keep(int c) {
    if (!drops_parts() || contents_[c].made_by < 0) return;
    if (is_in_region()) regions_.keep(c);
    else contents_[c].is_kept = true;
    if (!is_there(contents_[c].kept))
      if (auto memory = contents_.cell_of(c).memory.lock()) held_.hold(c, c10::Storage{std::move(memory)}, false);
  }

  // ---- blocks
  /// Drops what a block has made and held.
  /// \param passes(content)  what it does not drop
  template <class Passes>
  void close_block(int first, int last, Passes const& passes) {
    has_dropped_ = true;
    for (int k = first; k < last; ++k)
      operators_.each_made(k, [&](int c) {
        if (contents_[c].holding >= 0 && !contents_[c].is_kept && !passes(c)) held_.drop(c), ++totals_->dropped;
      });
  }
  /// A block that is made again needs what it read from earlier ones.
  void hold_if_it_passes(int c, at::Tensor const& t) {
    auto const& one = contents_[c];
    if (one.made_by >= 0 && one.made_by < blocks_->first() && !is_there(one.kept)) held_.hold(c, t.storage(), false);
  }
  /// What backward may ask for in a block, and is not there.
  [[nodiscard]] std::vector<int> missing_in(int block) {
    std::vector<int> all;
    auto const [first, last] = blocks_->operators_of(block);
    for (int k = first; k < last; ++k)
      operators_.each_made(k, [&](int c) {
        auto const& one = contents_[c];
        if (one.made_by == k && one.due > 0 && !is_there(one.kept) && !is_there(available(c))) all.push_back(c);
      });
    return all;
  }
  /// Backward asks for something that an operator saved: its block is made again.
  void is_asked_by(int number) {
    if (!blocks_ || blocks_->size() == 0) return;
    auto const lacks = [&](int block) { return !missing_in(block).empty(); };
    blocks_->reach(number, lacks, [&](int block) {
      auto missing = missing_in(block);
      int const one = missing.front();
      (void)make_again(0, one, std::move(missing));
    });
  }
  // ---- what is held
  /// What was made after everything that is still wanted is needed no more.
  void forget_above() {
    for (; last_wanted_ >= 0 && wanted_at_[std::size_t(last_wanted_)] == 0; --last_wanted_)
      operators_.each_made(last_wanted_, [&](int c) {
        if (contents_[c].made_by >= 0) held_.drop(c);
      });
  }
  /// By what a node of backward is known in the next step: the operator that it belongs to, and the last tensor that it
  /// asks for.
  [[nodiscard]] std::uint64_t node_of(saved_tensor const& last) {
    std::uint64_t const of = last.by < operators_.size() ? hash_of(last.by) : 0;
    return of * 0x9e3779b97f4a7c15u + std::uint64_t(last.content);
  }

  // ---- second runs
  /// \param region  of the saved tensor that is asked for; it and those around it are made as wholes
  /// \param open  contents to make; those that backward may ask for are held   \returns the memory of `target`
  [[nodiscard]] c10::Storage make_again(int region, int target, std::vector<int> open) {
    int const pass = ++passes_;
    std::vector<int> order, regions;
    if (regions_.is_dropped(region)) {
      regions.push_back(region);
      regions_.prepare(region, pass, open);
    }
    memories at_hand;
    ska::flat_hash_map<int, int> uses;
    ska::flat_hash_set<int> seen;
    while (!open.empty()) {
      int const c = open.back();
      open.pop_back();
      if (at_hand.count(c) != 0) continue;
      if (auto memory = available(c); is_there(memory)) {
        outside_.check(c, who_);
        if (!regions.empty() && contents_[c].due > 0 && !is_there(contents_[c].kept))
          held_.hold(c, memory, contents_[c].is_packed);
        at_hand.emplace(c, std::move(memory));
        continue;
      }
      int const by = contents_[c].made_by;
      if (by < 0) throw invalid_call{who_, "a tensor that was read is gone", {}, "keep it until backward"};
      if (!seen.insert(by).second) continue;
      for (int outer; !regions.empty() && (outer = regions_.around(regions.back(), by)) >= 0;) {
        regions.push_back(outer);
        regions_.prepare(outer, pass, open);
      }
      order.push_back(by);
      operators_.each_read(by, [&](int read) { ++uses[read], open.push_back(read); });
    }
    std::sort(order.begin(), order.end());
    c10::Storage found;
    for (int const number : order) {
      operators_.each_read(number, [&](int read) { --uses[read]; });
      auto made = run_again(operators_, number, layouts_, at_hand, [&](int c, c10::Storage const& memory) {
        return uses[c] == 0 && may_be_overwritten(contents_, operators_, layouts_, number, c, memory);
      });
      ++totals_->again;
      if (blocks_ && blocks_->size() > 0) blocks_->is_made(number);
      for (auto& [c, memory] : made) {
        if (c == target) found = memory;
        if (contents_[c].due > 0 && !is_there(contents_[c].kept)) held_.hold(c, memory, true);
        if (auto const use = uses.find(c); use != uses.end() && use->second > 0) at_hand[c] = std::move(memory);
      }
      made.clear();
      operators_.each_read(number, [&](int read) {
        if (uses[read] == 0) at_hand.erase(read);
      });
    }
    regions_.are_made(regions);
    if (!regions.empty()) end_later(pass);
    return found;
  }
  /// When the pass is over, what it has not asked for is dropped.
  void end_later(int pass) {
    if (!is_over_) return;
    auto end = [of = weak_from_this(), pass] {
      if (auto const one = of.lock()) one->end_pass(pass);
    };
    try {
      torch::autograd::Engine::get_default_engine().queue_callback(std::move(end));
    } catch (c10::Error const&) {  // no backward pass is running: the tensor was asked for from elsewhere
    }
  }

  std::uint64_t began_ = 0;  ///< number of calls that were over by then
  std::shared_ptr<byte_account> account_;
  std::recursive_mutex access_;  ///< an operator that runs again asks for memory, which this record gives back
  leaf_gradients leaves_;
  record_regions regions_{contents_, operators_, held_};
  std::shared_ptr<record_blocks> blocks_;
  std::vector<save_note> saves_;
  std::uint64_t sequence_ = 0;  ///< of autograd's nodes, after the last operator
  std::optional<generator_use> drawing_;  ///< from the first operator that draws to the end of the call
  int position_ = 0, last_wanted_ = -1, passes_ = 0;
  bool has_dropped_ = false;
};

}  // namespace cairn::libtorch::detail
