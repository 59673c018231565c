// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_regions.hpp  Parts of a recorded call whose insides are not held: regions, with who asks for which
/// content and when, and blocks, which are made again as a whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/detail/held_contents.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/operator_run.hpp>

namespace cairn::libtorch::detail {

/// Where the blocks of one kind of call end.
struct block_ends {
  std::vector<std::uint64_t> signature;  ///< for each operator, a hash of it and of all before it
  std::vector<int> ends;                 ///< for each block, one past its last operator
};

/// The blocks of one call. While the program runs they are those of the known kind of call that has begun alike.
class record_blocks {
 public:
  using kinds = std::vector<std::shared_ptr<block_ends const>>;
  explicit record_blocks(kinds known) : known_{std::move(known)} {}

  // ---- forward
  /// \param number  of the operator that begins   \returns whether a block ends in front of it; it begins at `first()`
  [[nodiscard]] bool ends_at(int number) const {
    if (!kind_) return false;
    auto const next = std::upper_bound(kind_->ends.begin(), kind_->ends.end(), first_);
    return next != kind_->ends.end() && *next <= number;
  }
  [[nodiscard]] int first() const noexcept { return first_; }  ///< the first operator of the block that runs
  void begin_at(int number) noexcept { first_ = number; }
  /// An operator has run.
  void ran(std::uint64_t hash) {
    auto const number = signature_.size();
    signature_.push_back(hash + 0x9e3779b97f4a7c15 * (number == 0 ? 1 : signature_.back() ^ (signature_.back() >> 29)));
    auto const is_alike = [&](auto const& one) {
      return one && number < one->signature.size() && one->signature[number] == signature_.back();
    };
    if (is_alike(kind_)) return;
    auto const found = std::find_if(known_.begin(), known_.end(), is_alike);
    kind_ = found == known_.end() ? nullptr : *found;
  }
  [[nodiscard]] std::vector<std::uint64_t> const& signature() const noexcept { return signature_; }
  /// The kind of the whole call; null if it is not known.
  [[nodiscard]] std::shared_ptr<block_ends const> kind() const {
    auto const is_it = [&](auto const& one) { return one->signature == signature_; };
    auto const found = std::find_if(known_.begin(), known_.end(), is_it);
    return found == known_.end() ? nullptr : *found;
  }

  // ---- backward
  /// \param told  called with a block before it is made again (true), and before its adjoints run (false)
  void settle(std::vector<int> ends, std::function<void(int block, bool again)> told) {
    ends_ = std::move(ends);
    told_ = std::move(told);
    open_ = size();
    is_made_.assign(ends_.size(), 0);
  }
  [[nodiscard]] int size() const noexcept { return int(ends_.size()); }  ///< number of blocks; 0 before `settle`
  [[nodiscard]] std::pair<int, int> operators_of(int block) const {
    return {block == 0 ? 0 : ends_[std::size_t(block - 1)], ends_[std::size_t(block)]};
  }
  /// The block of an operator, or the last one.
  [[nodiscard]] int of(int number) const {
    auto const place = std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin();
    return (std::min)(int(place), size() - 1);
  }
  /// Backward reaches an operator: all blocks behind its own are done. It reaches them from the last one on, so that a
  /// later one means another pass.
  /// \param make(block)  makes it again   \param lacks(block)  whether it must be made again
  template <class Lacks, class Make>
  void reach(int number, Lacks const& lacks, Make const& make) {
    int const block = of(number);
    if (block > open_) open_ = size();
    while (open_ > block) {
      --open_;
      if (bool const lacking = open_ == block && lacks(block); lacking || is_made_[std::size_t(open_)]) {
        told_(open_, true);
        if (lacking) make(open_);
        is_made_[std::size_t(open_)] = 0;
      }
      told_(open_, false);
    }
  }
  /// An operator has run again, maybe since a later block needs it.
  void is_made(int number) { is_made_[std::size_t(of(number))] = 1; }
  /// The pass is over: nothing was asked for in the blocks that are left.
  void finish() {
    while (open_ > 0) told_(--open_, false);
  }

 private:
  kinds known_;
  std::shared_ptr<block_ends const> kind_;  ///< the one that is followed
  int first_ = 0;
  std::vector<std::uint64_t> signature_;
  std::vector<int> ends_;
  std::function<void(int, bool)> told_;
  int open_ = 0;
  std::vector<char> is_made_;  ///< for each block, whether it has run again and that was not told
};

/// The regions of a call, which nest. Region 0 is the call itself. Contents count those that will ask for them while
/// they are held: what nobody will ask for is dropped.
class record_regions {
 public:
  /// \param drops  whether the call as a whole is a region
  record_regions(memory_cells& contents, recorded_operators& operators, held_contents& held)
      : contents_{contents}, operators_{operators}, held_{held} {
    all_.push_back({-1, false, 0});
  }

  // ---- forward
  [[nodiscard]] int now() const noexcept { return now_; }
  /// The call itself is a region.
  void drop_all(bool keeps_leftovers) {
    all_.front().drops = true;
    all_.front().keeps_leftovers = keeps_leftovers;
  }
  /// Begins a region within the present one.   \param keeps_leftovers  also when a pass is over
  void open(bool keeps_leftovers) {
    all_.push_back({std::exchange(now_, int(all_.size())), true, operators_.size()});
    all_.back().keeps_leftovers = keeps_leftovers;
  }
  /// Ends the present region.
  void close() {
    auto& one = all_[std::size_t(now_)];
    one.end = operators_.size();
    forget(now_);
    for (auto k = std::size_t(now_) + 1; k < all_.size(); ++k) leave_inside(int(k));
    if (!is_dropped(one.parent) && one.alive > 0) {
      claim_inputs(one, claim::lasting);
      for (int const c : one.inputs)
        if (!is_there(contents_[c].kept) && contents_.is_unchanged(c))
          if (auto memory = contents_.cell_of(c).memory.lock()) held_.hold(c, c10::Storage{std::move(memory)}, false);
    }
    now_ = one.parent;
  }
  /// The call is over.
  void close_all() {
    auto& call = all_.front();
    call.end = operators_.size();
    if (!call.drops) return;
    forget(0);
    for (std::size_t k = 1; k < all_.size(); ++k) leave_inside(int(k));
  }
  /// \param reached  the contents of which something that is saved is made: no others are held for regions
  void leave_out_others(std::vector<char> reached) {
    reached_ = std::move(reached);
    for (auto& one : all_)
      for (auto* const list : {&one.inputs, &one.kept})
        std::erase_if(*list, [&](int c) {
          if (is_reached(c)) return false;
          if (list == &one.kept || one.claims != claim::none) give_up(c);
          return true;
        });
  }
  /// Whether what is saved now is not held.
  [[nodiscard]] bool drops_now() const { return is_dropped(now_); }
  /// A tensor is saved.   \param holds  whether it is held all the same   \returns its place in the present region
  [[nodiscard]] int add(int content, bool holds) {
    if (!drops_now()) return ++contents_[content].due, -1;
    if (holds) ++contents_[content].due;
    for (int k = now_; k >= 0; k = all_[std::size_t(k)].parent) ++all_[std::size_t(k)].alive;
    auto& list = all_[std::size_t(now_)].saved;
    list.push_back({content, holds ? state::held : state::waiting});
    return int(list.size()) - 1;
  }
  /// The present region holds a content as long as it lives.
  void keep(int content) {
    ++contents_[content].due;
    contents_[content].is_kept = true;
    all_[std::size_t(now_)].kept.push_back(content);
  }

  // ---- backward
  /// Whether nothing is held in a region.
  [[nodiscard]] bool is_dropped(int region) const { return all_[std::size_t(region)].drops; }
  /// A saved tensor has been given to who asked for it.
  void is_given(int region, int place) {
    if (place < 0) return;
    auto& one = all_[std::size_t(region)].saved[std::size_t(place)];
    if (one.now == state::due) one.now = state::given, give_up(one.content);
  }
  /// A saved tensor is gone.   \returns whether its content was held for its own sake, as in the plain call
  bool is_released(int region, int place, int content) {
    if (place < 0) return --contents_[content].due, true;
    auto& one = all_[std::size_t(region)].saved[std::size_t(place)];
    if (one.now == state::due || one.now == state::held) give_up(content);
    one.now = state::gone;
    for (int k = region; k >= 0; k = all_[std::size_t(k)].parent)
      if (--all_[std::size_t(k)].alive == 0) is_done(k);
    return false;
  }
  /// What is to be made again when a region is asked for the first time in a pass: all that it still wants, and what
  /// regions in it read. From now on it is held for them.   \param pass  the number of the pass
  void prepare(int region, int pass, std::vector<int>& wanted) {
    auto& one = all_[std::size_t(region)];
    one.pass = pass;
    one.is_made = true;
    for (auto& saved : one.saved) {
      if (saved.now == state::waiting || saved.now == state::given) {
        saved.now = state::due;
        ++contents_[saved.content].due;
      }
      if (saved.now == state::due) wanted.push_back(saved.content);
    }
    for (auto k = std::size_t(region) + 1; k < all_.size(); ++k) {
      auto& inside = all_[k];
      if (inside.parent != region || inside.is_made || inside.alive == 0) continue;
      if (inside.claims == claim::none) claim_inputs(inside, claim::passing);
      wanted.insert(wanted.end(), inside.inputs.begin(), inside.inputs.end());
    }
  }
  /// The regions have been made again: what they read need not be held for them any more.
  void are_made(std::vector<int> const& regions) {
    for (int const k : regions)
      if (all_[std::size_t(k)].claims == claim::passing) give_up_inputs(all_[std::size_t(k)]);
  }
  /// The region around this one, if an operator lies outside of this one and nothing is held in it; otherwise -1.
  [[nodiscard]] int around(int region, int number) const {
    auto const& one = all_[std::size_t(region)];
    if (number >= one.begin && number < one.end) return -1;
    return one.parent >= 0 && is_dropped(one.parent) ? one.parent : -1;
  }
  /// A pass is over: what nobody has asked for is dropped.
  void end_pass(int pass) {
    for (std::size_t k = 0; k < all_.size(); ++k)
      if (all_[k].pass == pass && !all_[k].keeps_leftovers) forget(int(k));
  }

 private:
  enum class state : char { waiting, due, given, held, gone };
  enum class claim : char { none, passing, lasting };
  struct saved_tensor {
    int content;
    state now;
  };
  struct part {
    int parent;
    bool drops;
    int begin, end = (std::numeric_limits<int>::max)();  ///< its operators
    int alive = 0;                                       ///< saved tensors, also those of regions in it
    int pass = -1;                                       ///< that has made it again last
    bool is_made = false;                                ///< in a pass that is not over
    claim claims = claim::none;                          ///< whether its inputs are held for it
    bool knows_inputs = false, keeps_leftovers = false;
    std::vector<saved_tensor> saved = {};
    std::vector<int> inputs = {};  ///< contents from around it that it reads, and its kept ones if they are gone
    std::vector<int> kept = {};    ///< held as long as it lives
  };

  [[nodiscard]] bool is_reached(int content) const { return reached_.empty() || reached_[std::size_t(content)] != 0; }
  void give_up(int content) {
    if (auto& one = contents_[content]; --one.due == 0 && one.can_be_made()) held_.drop(content);
  }
  void give_up_inputs(part& one) {
    one.claims = claim::none;
    for (int const c : one.inputs) give_up(c);
  }
  void claim_inputs(part& one, claim how) {
    find_inputs(one);
    one.claims = how;
    for (int const c : one.inputs) ++contents_[c].due;
  }
  void find_inputs(part& one) {
    if (std::exchange(one.knows_inputs, true)) return;
    for (int k = one.begin; k < one.end; ++k)
      operators_.each_read(k, [&](int c) {
        int const by = contents_[c].made_by;
        if (by >= 0 && by < one.begin && is_reached(c)) one.inputs.push_back(c);
      });
    std::sort(one.inputs.begin(), one.inputs.end());
    one.inputs.erase(std::unique(one.inputs.begin(), one.inputs.end()), one.inputs.end());
  }
  /// What was made again for the region, and not asked for, is held no more.
  void forget(int number) {
    auto& one = all_[std::size_t(number)];
    one.is_made = false;
    one.pass = -1;
    for (auto& saved : one.saved)
      if (saved.now == state::due) saved.now = state::waiting, give_up(saved.content);
    for (auto k = std::size_t(number) + 1; k < all_.size(); ++k)
      if (all_[k].parent == number && all_[k].claims == claim::passing) give_up_inputs(all_[k]);
  }
  /// The region around this one ends: what this one has kept is one more input of it.
  void leave_inside(int number) {
    auto& one = all_[std::size_t(number)];
    for (auto& saved : one.saved)
      if (saved.now == state::held) saved.now = state::waiting, give_up(saved.content);
    if (one.kept.empty()) return;
    find_inputs(one);
    for (int const c : one.kept) give_up(c);
    one.inputs.insert(one.inputs.end(), one.kept.begin(), one.kept.end());
    one.kept.clear();
  }
  /// Nothing asks for anything of the region any more.
  void is_done(int number) {
    auto& one = all_[std::size_t(number)];
    if (one.claims != claim::none) give_up_inputs(one);
    for (int const c : std::exchange(one.kept, {})) give_up(c);
  }

  memory_cells& contents_;
  recorded_operators& operators_;
  held_contents& held_;
  std::vector<part> all_;
  std::vector<char> reached_;  ///< empty until the call is over
  int now_ = 0;
};

}  // namespace cairn::libtorch::detail
