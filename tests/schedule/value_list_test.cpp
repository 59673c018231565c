// SPDX-License-Identifier: Apache-2.0
// A list of plain values does what std::vector does, and its sort what std::stable_sort does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <utility>
#include <vector>
#include <cairn/schedule/detail/value_list.hpp>
#include "support/catch.hpp"

using cairn::detail::sort_values;
using cairn::detail::value_list;

namespace {

struct item {
  std::int64_t key = 7, number = 0;
  bool operator==(item const&) const = default;
};

/// One random call on both.
void change(value_list<item>& list, std::vector<item>& plain, std::mt19937& numbers) {
  auto const below = [&](std::size_t end) { return std::size_t(numbers() % end); };
  item const value{std::int64_t(below(5)), std::int64_t(numbers())};
  switch (below(11)) {
    case 0: list.push_back(value), plain.push_back(value); break;
    case 1:
      if (!plain.empty()) list.push_back(list[0]), plain.push_back(item{plain[0]});
      break;
    case 2:
      if (!plain.empty()) list.pop_back(), plain.pop_back();
      break;
    case 3: {
      std::size_t const k = below(plain.size() + 1);
      auto const* const at = list.insert(list.begin() + k, value);
      CHECK(at == list.begin() + k);
      plain.insert(plain.begin() + std::ptrdiff_t(k), value);
      break;
    }
    case 4: {
      std::size_t const size = below(40);
      list.resize(size, value), plain.resize(size, value);
      break;
    }
    case 5: {
      std::size_t const size = below(20);
      list.assign(size, value), plain.assign(size, value);
      break;
    }
    case 6: {
      auto const odd = [](item const& one) { return one.key % 2 == 1; };
      list.remove_if(odd), std::erase_if(plain, odd);
      break;
    }
    case 7: list.remove_repeated(), plain.erase(std::unique(plain.begin(), plain.end()), plain.end()); break;
    case 8: {
      value_list<item> copy{list};
      copy.push_back(value), plain.push_back(value);
      list = copy;
      break;
    }
    case 9: {
      value_list<item> moved{std::move(list)};
      list = std::move(moved);
      break;
    }
    default: {
      auto const less = [](item const& one, item const& other) { return one.key < other.key; };
      sort_values(list, less), std::stable_sort(plain.begin(), plain.end(), less);
    }
  }
}

}  // namespace

TEST_CASE("a list of values is what std::vector is", "[schedule]") {
  std::mt19937 numbers{3};
  for (int round = 0; round < 200; ++round) {
    value_list<item> list;
    std::vector<item> plain;
    for (int calls = 0; calls < 60; ++calls) {
      change(list, plain, numbers);
      REQUIRE(std::ranges::equal(list, plain));
      REQUIRE(list.empty() == plain.empty());
      REQUIRE(list.capacity() >= list.size());
    }
  }
}

TEST_CASE("a list of values begins as requested", "[schedule]") {
  CHECK(value_list<item>(3)[2] == item{});
  CHECK(std::ranges::equal(value_list<int>(2, 5), std::vector<int>{5, 5}));
  CHECK(std::ranges::equal(value_list<int>{2, 5}, std::vector<int>{2, 5}));
  int const values[] = {1, 2, 3};
  value_list<int> list{values, 2};
  CHECK(list.back() == 2);
  list.assign(values + 1, values + 3);
  list.append(values, 1);
  CHECK(std::ranges::equal(list, std::vector<int>{2, 3, 1}));
  list.clear();
  CHECK(list.empty());
}

TEST_CASE("a list of values sorts any number of them, and leaves those that are alike in their order", "[schedule]") {
  std::mt19937 numbers{4};
  for (std::size_t size = 0; size < 70; ++size) {
    value_list<item> list;
    for (std::size_t k = 0; k < size; ++k) list.push_back({std::int64_t(numbers() % 6), std::int64_t(k)});
    std::vector<item> plain(list.begin(), list.end());
    auto const less = [](item const& one, item const& other) { return one.key < other.key; };
    sort_values(list, less);
    std::stable_sort(plain.begin(), plain.end(), less);
    REQUIRE(std::ranges::equal(list, plain));
  }
}

TEST_CASE("a list of values that cannot be says that there is no memory for it", "[schedule]") {
  value_list<item> list{{1, 2}};
  CHECK_THROWS_AS(list.reserve(~std::size_t{0} / 4), std::bad_alloc);
  CHECK(list.size() == 1);
  CHECK(list[0] == item{1, 2});
}
