// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/checkpointed_rnn.hpp>

namespace recurrent_estimate_tests {

using at::Tensor;
using cl::LoopOptions;
using cl::StepStats;
using support::same_bits;
using support::seeded;
namespace nn = torch::nn;

Tensor first_part(Tensor const& h) { return h; }
Tensor first_part(std::tuple<Tensor, Tensor> const& s) { return std::get<0>(s); }

/// The most bytes of a forward and a backward that begins with gradients that stood before.
template <class Net>
std::int64_t measured(Net& net, Tensor const& xs) {
  auto const& options = net->options;
  std::int64_t const ways = options.bidirectional() ? 2 : 1;
  auto sizes = xs.sizes().vec();
  sizes.back() = ways * (net->options_base.proj_size() > 0 ? net->options_base.proj_size() : options.hidden_size());
  auto const bar = torch::ones(sizes),
             of_state = torch::ones(
                 {ways * options.num_layers(), options.batch_first() ? sizes[0] : sizes[1], sizes.back() / ways});
  auto leaves = net->parameters();
  if (xs.requires_grad()) leaves.push_back(xs);
  cl::byte_meter const meter;
  auto const [ys, last] = net->forward(xs);
  auto const all = torch::autograd::grad({ys, first_part(last)}, leaves, {bar, of_state});
  return meter.peak();
}

template <class Net, class Options>
void check(Options const& options, bool differentiable, std::int64_t steps) {
  seeded const seed{4};
  std::int64_t const scans = options.bidirectional() ? 2 * options.num_layers() : 1;
  auto const xs = (options.batch_first() ? torch::randn({32, steps, 24}) : torch::randn({steps, 32, 24}))
                      .requires_grad_(differentiable);
  for (auto const& how : {LoopOptions(), LoopOptions().checkpoints(3), LoopOptions().checkpoints(2).block_size(5),
                          LoopOptions().memory_limit("3MB")}) {
    auto const stats = std::make_shared<StepStats>();
    Net net{options, LoopOptions(how).stats(stats)};
    auto const before = at::detail::getDefaultCPUGenerator().get_state();
    auto const e = net->estimate(xs);
    CHECK(same_bits(before, at::detail::getDefaultCPUGenerator().get_state()));
    CHECK(stats->forward == 0);
    auto const held = measured(net, xs);
    auto const said = std::int64_t(e.peak_bytes + e.caller_bytes);
    CAPTURE(options.num_layers(), scans, options.dropout(), options.batch_first(), differentiable, steps, held, said,
            std::int64_t(e.caller_bytes));
    CHECK(e.forward == scans * steps);
    CHECK(e.fits());
    if (how.has_memory_limit()) {  // by what it measures itself it may choose other blocks
      CHECK(held <= 3'000'000 + std::int64_t(e.caller_bytes));
      continue;
    }
    CHECK(stats->forward == e.forward);
    CHECK(stats->recompute == e.recompute);
    CHECK(stats->vjp == e.vjp);
    CHECK(stats->engine_calls == e.engine_calls);
    CHECK(held <= said);
    auto const outputs = std::int64_t(32 * options.hidden_size() * 4);
    auto of_one_scan = 2 * std::int64_t(e.costs.state_bytes + e.costs.generator_bytes) +
                       std::min<std::int64_t>(steps, 3) * (2 * outputs + 32 * 24 * 4);
    // one block: all tapes are gone before the gradients stand in their places
    if (e.engine_calls == scans)
      of_one_scan += std::int64_t(e.costs.gradient_bytes) + (differentiable ? steps * 32 * 24 * 4 : 0);
    CHECK(double(said) <= 1.05 * double(held) + double(scans * of_one_scan));
  }
}

TEMPLATE_TEST_CASE("a recurrent module of one direction says what a forward and backward take", "[torch]",
                   cl::CheckpointedLSTM, cl::CheckpointedGRU, cl::CheckpointedRNN) {
  using options = typename TestType::Impl::Options;
  for (bool const differentiable : {false, true}) {
    check<TestType>(options(24, 32), differentiable, 24);
    check<TestType>(options(24, 32).num_layers(3).batch_first(true), differentiable, 24);
  }
  check<TestType>(options(24, 32).num_layers(2).dropout(0.3), true, 24);
  check<TestType>(options(24, 32), true, 1);
}

TEST_CASE("the estimate of a recurrent module of both directions is refused", "[torch]") {
  cl::CheckpointedGRU net{nn::GRUOptions(3, 4).bidirectional(true)};
  CHECK(support::message_of([&] { (void)net->estimate(torch::ones({5, 2, 3})); })
            .find("cairn::libtorch::CheckpointedGRU: only modules of one direction are estimated") == 0);
}

}  // namespace recurrent_estimate_tests
