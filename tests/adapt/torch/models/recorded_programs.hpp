// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded_programs.hpp  Runs programs plainly and with records of their calls, and compares what they leave.
#include "support/torch.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>

namespace recorded_programs {

using at::Tensor;
using tensors = std::vector<Tensor>;

/// How a program makes its calls: `run([&] { return f(x); })`. All of them share one account.
class runner {
 public:
  /// The plain program.
  runner() = default;
  explicit runner(std::int64_t limit, bool verify = false)
      : account_{std::make_shared<cl::detail::byte_account>()},
        totals_{std::make_shared<cl::detail::record_totals>()},
        verify_{verify} {
    account_->set_limit(limit);
    totals_->notice = [](std::string const&) {};
  }
  /// By blocks of so many operators. A call follows the blocks of earlier ones as long as it is like one of them.
  [[nodiscard]] static runner by_blocks(std::size_t operators, std::int64_t limit) {
    runner made{limit, true};
    made.block_ = operators;
    return made;
  }
  template <class Fn>
  auto operator()(Fn&& f) const {
    if (region_) return part(f);
    if (!account_) return f();
    cl::detail::record_scope const on{account_, totals_, cl::detail::checkpoint_module_name};
    on.record().in_force.verify = verify_;
    if (block_ == 0) return f();
    auto const blocks = std::make_shared<cl::detail::record_blocks>(*kinds_);
    on.record().divide(blocks);
    auto result = f();
    auto kind = blocks->kind();
    if (!kind) {
      std::vector<int> ends;
      auto const count = blocks->signature().size();
      for (std::size_t end = block_; end < count; end += block_) ends.push_back(int(end));
      ends.push_back(int(count));
      kind = std::make_shared<cl::detail::block_ends const>(cl::detail::block_ends{blocks->signature(), ends});
      kinds_->push_back(kind);
    }
    on.record().settle(kind->ends, [](int, bool) {});
    return result;
  }
  /// A part of a call, which is a region unless the program is the plain one.
  template <class Fn>
  auto part(Fn&& f) const {
    if (!account_ && !region_) return f();
    static cl::detail::kept_names const names;
    cl::detail::call_record::rules const rules{nullptr, &names, verify_};
    cl::detail::region_scope const on{rules, false, {}};
    return f();
  }
  /// Each call is a region.
  [[nodiscard]] static runner of_regions(bool verify) {
    runner one;
    one.region_ = true, one.verify_ = verify;
    return one;
  }
  /// A step is over: several steps of a program are counted one by one.
  void end_step() const {
    if (!account_) return;
    peak_ = (std::max)(peak_, account_->peak());
    passed_ = (std::max)(passed_, account_->passed());
  }
  [[nodiscard]] std::int64_t peak() const { return end_step(), peak_; }
  [[nodiscard]] std::int64_t passed() const { return end_step(), passed_; }
  [[nodiscard]] cl::RecordReport report() const { return totals_->report(*account_); }

 private:
  std::shared_ptr<cl::detail::byte_account> account_;
  std::shared_ptr<cl::detail::record_totals> totals_;
  bool verify_ = false, region_ = false;
  std::size_t block_ = 0;
  std::shared_ptr<cl::detail::record_blocks::kinds> kinds_ = std::make_shared<cl::detail::record_blocks::kinds>();
  mutable std::int64_t peak_ = 0, passed_ = 0;
};

inline constexpr std::int64_t no_limit = std::int64_t{1} << 40;

/// Returns everything that it leaves: results, gradients, buffers, members, generators.
using program = std::function<tensors(runner const&)>;

struct outcome {
  tensors left;
  std::string error;
};
inline outcome run(program const& of, runner const& how) {
  torch::manual_seed(7);
  try {
    auto left = of(how);
    for (auto& t : left)
      if (t.defined() && t.is_sparse()) t = t.coalesce().to_dense();
    return {std::move(left), {}};
  } catch (std::exception const& e) { return {{}, e.what()[0] == '\0' ? "an error" : e.what()}; }
}
inline Tensor generator_now() { return at::detail::getDefaultCPUGenerator().get_state(); }

/// Under each limit, by blocks, and with its calls as regions, the program leaves what the plain one leaves, or both
/// throw; it keeps its limit or says what it takes. With `verify` nothing else happens.
/// \param number  of many programs: then every other limit is with `verify`, the others without; otherwise all both
/// \returns operators that ran again
inline std::int64_t check(std::string const& name, program const& of, int number = -1) {
  INFO(name);
  auto const plain = run(of, {});
  auto const same = [&](outcome const& found) {
    return support::same_bits(plain.left, found.left) && plain.error.empty() == found.error.empty();
  };
  runner const free{no_limit};
  auto const all = run(of, free);
  CAPTURE(plain.error, all.error);
  CHECK(same(all));
  for (bool const verify : {false, true}) {
    auto const found = run(of, runner::of_regions(verify));
    CAPTURE(verify, found.error);
    CHECK(same(found));
  }
  std::int64_t again = 0;
  for (auto const limit : {free.peak() * 3 / 4, free.peak() / 2, free.peak() / 3, std::int64_t{1}}) {
    if (number >= 0) ++number;
    for (bool const verify : {false, true}) {
      if (number >= 0 && verify != (number % 2 == 0)) continue;
      runner const within{limit, verify};
      auto const found = run(of, within);
      CAPTURE(limit, verify, within.peak(), within.passed(), found.error);
      CHECK(same(found));
      CHECK((within.peak() <= limit || within.passed() >= within.peak()));
      again += within.report().again;
    }
  }
  struct {
    std::size_t size;
    std::int64_t limit;
  } const divided[]{{1, no_limit}, {4, no_limit}, {15, free.peak() / 2}};
  for (auto const& [size, limit] : divided) {
    auto const blocks = runner::by_blocks(size, limit);
    auto const found = run(of, blocks);
    CAPTURE(size, limit, found.error);
    CHECK(same(found));
    again += blocks.report().again;
  }
  return again;
}

/// Gradients of parameters, and buffers.
inline tensors left_in(torch::nn::Module const& net) {
  tensors all;
  for (auto const& p : net.parameters()) all.push_back(p.grad().defined() ? p.grad().clone() : Tensor{});
  for (auto const& b : net.buffers()) all.push_back(b.clone());
  return all;
}

}  // namespace recorded_programs
