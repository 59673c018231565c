// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random chains of the kinds that planners meet: small numbers with every odd shape, layers of networks, and sizes
// without order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

#include <cairn/rules/chain.hpp>

namespace chains {

enum class kind { tiny, with_input, uniform, random, resnet, transformer, lstm };
inline constexpr kind all_kinds[]{kind::tiny,   kind::with_input,  kind::uniform, kind::random,
                                  kind::resnet, kind::transformer, kind::lstm};
/// The four with whose stages and budgets the planners' figures were measured.
inline constexpr kind large_kinds[]{kind::random, kind::resnet, kind::transformer, kind::lstm};

inline std::string_view name_of(kind of) {
  switch (of) {
    case kind::tiny: return "tiny";
    case kind::with_input: return "with_input";  // tapes that hold a copy of the stage's input
    case kind::uniform: return "uniform";
    case kind::random: return "random";
    case kind::resnet: return "resnet";
    case kind::transformer: return "transformer";
    case kind::lstm: return "lstm";
  }
  return "";
}

/// A chain of `stages` stages; the same one for the same arguments.
inline cairn::chain make(kind of, int stages, unsigned seed) {
  std::mt19937_64 numbers{seed * 7919u + unsigned(stages)};
  auto const between = [&](std::int64_t least, std::int64_t most) {
    return least + std::int64_t(numbers() % std::uint64_t(most - least + 1));
  };
  bool const small = of == kind::tiny || of == kind::with_input;
  std::size_t const count = std::size_t(stages);
  cairn::chain c;
  for (std::size_t i = 0; i <= count; ++i) switch (of) {
      case kind::tiny:
      case kind::with_input: c.x.push_back(between(1, 6)); break;
      case kind::uniform: c.x.push_back(4); break;
      case kind::random: c.x.push_back(between(1'000'000, 20'000'000)); break;
      case kind::resnet:
        c.x.push_back((std::int64_t{51'380'224} >> std::min<std::size_t>(3, 4 * i / (count + 1))) * (1 + (i % 3 == 2)));
        break;
      case kind::transformer: c.x.push_back(16'777'216); break;
      case kind::lstm: c.x.push_back(262'144); break;
    }
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t const in = c.x[i], out = c.x[i + 1];
    auto const stage = [&](std::int64_t s, std::int64_t f, std::int64_t b, std::int64_t u, std::int64_t v) {
      c.s.push_back(s), c.f.push_back(f), c.b.push_back(b), c.u.push_back(u), c.v.push_back(v);
    };
    switch (of) {
      case kind::tiny:
      case kind::with_input: {
        std::int64_t const s = of == kind::tiny ? out + between(0, 8) : in + out + between(0, 3), f = between(0, 2),
                           b = between(0, 3), u = between(1, 9);
        stage(s, f, b, u, between(1, 9));
        break;
      }
      case kind::uniform: stage(10, 0, 2, 1000, 2000); break;
      case kind::random: {
        std::int64_t const s = out + between(0, 60'000'000), f = between(0, 4'000'000), b = between(0, 8'000'000),
                           u = between(100'000, 5'000'000);
        stage(s, f, b, u, 2 * u);
        break;
      }
      case kind::resnet: {
        std::int64_t const u = between(2'000'000, 3'500'000);
        stage(out * std::int64_t(2 + i % 3), in / 8, in / 4 + out, u, 2 * u);
        break;
      }
      case kind::transformer: {
        bool const attention = i % 2 == 0;
        std::int64_t const u = (attention ? 3'100'000 : 4'200'000) + between(0, 60'000);
        stage(out * (attention ? 9 : 8), in * (attention ? 2 : 1), 3 * in, u, 2 * u);
        break;
      }
      case kind::lstm: stage(out + 917'504, 0, 524'288, 900'000, 1'700'000); break;
    }
  }
  c.b.push_back(small ? between(0, 2) : c.x[count]);
  c.v.push_back(small ? between(0, 3) : 0);
  return c;
}
/// The same chain with adjoints of other sizes than the states.
inline cairn::chain with_odd_adjoints(cairn::chain c, unsigned seed) {
  std::mt19937_64 numbers{seed};
  c.g.clear();
  for (auto const bytes : c.x) c.g.push_back(std::int64_t(numbers() % std::uint64_t(2 * bytes + 1)));
  return c;
}

/// The same chain with working bytes that outweigh what is kept.
inline cairn::chain with_large_work(cairn::chain c, unsigned seed) {
  std::mt19937_64 numbers{seed};
  std::int64_t const most = 3 * *std::max_element(c.s.begin(), c.s.end());
  for (auto& bytes : c.f) bytes = numbers() % 2 ? 0 : std::int64_t(numbers() % std::uint64_t(most + 1));
  for (auto& bytes : c.b) bytes = numbers() % 2 ? 0 : std::int64_t(numbers() % std::uint64_t(most + 1));
  return c;
}

/// Small chains where what binds is a run again beside a large adjoint: bare tapes, adjoints of all sizes, heavy work
/// here and there.
inline cairn::chain with_bare_tapes(int stages, unsigned seed) {
  std::mt19937_64 numbers{seed};
  auto const roll = [&](std::int64_t most) { return std::int64_t(numbers() % std::uint64_t(most + 1)); };
  cairn::chain c;
  for (int i = 0; i <= stages; ++i)
    c.x.push_back(1 + roll(3)), c.g.push_back(roll(1) * roll(20)), c.b.push_back(roll(2));
  for (std::size_t i = 0; i < std::size_t(stages); ++i)
    c.s.push_back(c.x[i + 1] + roll(1)), c.f.push_back(roll(1) * roll(15)), c.u.push_back(1 + roll(4));
  return c;
}

}  // namespace chains
