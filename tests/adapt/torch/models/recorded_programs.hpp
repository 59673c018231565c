// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded_programs.hpp  Runs programs plainly and with records of their calls, and compares what they leave.
#include "support/torch.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
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
  [[nodiscard]] std::int64_t peak() const { return end_step(), peak_; }  ///< 0 of regions
  [[nodiscard]] std::int64_t passed() const { return end_step(), passed_; }
  [[nodiscard]] std::int64_t again() const { return totals_ ? std::int64_t(totals_->again) : 0; }

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
/// \param number  of many programs: then it runs in three of the nine ways, others for each; otherwise in all of them,
///   with `verify` and without
/// \returns operators that ran again
inline std::int64_t check(std::string const& name, program const& of, int number = -1) {
  INFO(name);
  std::int64_t peak = 0;
  auto const plain = [&] {
    cl::byte_meter const meter;
    auto found = run(of, {});
    peak = meter.peak();
    return found;
  }();
  struct {
    std::int64_t limit;
    int block = 0;  ///< operators in one; -1: each call is a region
  } const ways[]{{no_limit}, {peak * 3 / 4}, {peak / 2},   {peak / 3},     {1},
                 {0, -1},    {no_limit, 1},  {no_limit, 4}, {peak / 2, 15}};
  int const count = int(std::size(ways));
  std::int64_t again = 0;
  for (int k = 0; k < (number < 0 ? count : 3); ++k) {
    auto const [limit, block] = ways[number < 0 ? k : (3 * number + k) % count];
    for (bool const verify : {false, true}) {
      if ((block > 0 && !verify) || (block <= 0 && number >= 0 && verify != (number / count % 2 == 1))) continue;
      auto const how = block > 0    ? runner::by_blocks(std::size_t(block), limit)
                       : block == 0 ? runner{limit, verify}
                                    : runner::of_regions(verify);
      auto const found = run(of, how);
      CAPTURE(limit, block, verify, how.peak(), how.passed(), plain.error, found.error);
      CHECK(support::same_bits(plain.left, found.left));
      CHECK(plain.error.empty() == found.error.empty());
      CHECK((block != 0 || how.peak() <= limit || how.passed() >= how.peak()));
      again += how.again();
    }
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
