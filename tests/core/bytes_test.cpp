// SPDX-License-Identifier: Apache-2.0
// Sizes in text are exact both ways, and what is no size is refused with a hint.
#include <cstdint>
#include <string>
#include <string_view>
#include <cairn/core/bytes.hpp>
#include "support/catch.hpp"

using cairn::byte_size;
using namespace cairn::literals;
namespace {

std::uint64_t constexpr kilo = 1000, kibi = 1024;
std::uint64_t read(char const* text) { return byte_size{text}.count(); }

/// What the refusal of a text says.
template <class Error = cairn::invalid_size>
std::string refusal(char const* text) {
  try {
    (void)byte_size{text};
  } catch (Error const& refused) {
    CHECK(refused.operation() == std::string{"cairn::byte_size"});
    return refused.what();
  }
  return "accepted";
}

/// A fixed sequence of numbers of all lengths.
struct mixer {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

}  // namespace

TEST_CASE("a size is a number and a unit", "[bytes]") {
  CHECK(read("4GB") == 4 * kilo * kilo * kilo);
  CHECK(read("1.5 GB") == 1'500'000'000);
  CHECK(read("512MiB") == 512 * kibi * kibi);
  CHECK(read("0.5KiB") == 512);
  CHECK(read("100 B") == 100);
  CHECK(read("100") == 100);
  CHECK(read("0") == 0);
  CHECK(read("0.0EiB") == 0);
  CHECK(read("1.0") == 1);
  CHECK(read("  4 \t GB ") == 4'000'000'000);
  CHECK(read("007kB") == 7000);
  CHECK(read("1kB") == 1000);
  CHECK(read("1KB") == 1000);
  CHECK(read("1.000000000000000000EB") == kilo * kilo * kilo * kilo * kilo * kilo);
  CHECK(byte_size{std::string{"2TB"}} == byte_size{2'000'000'000'000});
  CHECK(byte_size{std::string_view{"2TiBxyz", 4}} == byte_size{2 * kibi * kibi * kibi * kibi});
  CHECK(byte_size{"12345", 2} == byte_size{12});
}

TEST_CASE("each unit is a power of 1000 or of 1024", "[bytes]") {
  std::uint64_t thousands = 1, binary = 1;
  for (auto const& [one, other] : {std::pair{"1KB", "1KiB"},
                                   {"1MB", "1MiB"},
                                   {"1GB", "1GiB"},
                                   {"1TB", "1TiB"},
                                   {"1PB", "1PiB"},
                                   {"1EB", "1EiB"}}) {
    thousands *= kilo;
    binary *= kibi;
    CHECK(read(one) == thousands);
    CHECK(read(other) == binary);
  }
}

TEST_CASE("fractions of a unit are exact or refused", "[bytes]") {
  CHECK(read("0.000000000000000000867361737988403547205962240695953369140625EiB") == 1);
  CHECK(read("0.000000000000000001EB") == 1);
  CHECK(read("15.999999999999999999132638262011596452794037759304046630859375EiB") == ~std::uint64_t{0});
  CHECK(read("18.446744073709551615EB") == ~std::uint64_t{0});
  CHECK(read("0.1MB") == 100'000);
  CHECK_THAT(refusal("0.1MiB"), Catch::Matchers::ContainsSubstring("\"0.1MiB\" is not a whole number of bytes"));
  CHECK_THAT(refusal("1.0001B"), Catch::Matchers::ContainsSubstring("\"1.0001B\" is not a whole number of bytes"));
  CHECK_THAT(refusal("1.5"), Catch::Matchers::ContainsSubstring("\"1.5\" is not a whole number of bytes"));
  CHECK_THAT(refusal("0.0000000000000000001EB"), Catch::Matchers::ContainsSubstring("not a whole number of bytes"));
  CHECK_THAT(refusal("0.0000000000000000000000000000000000000000000000000000000000000000000000000001EiB"),
             Catch::Matchers::ContainsSubstring("not a whole number of bytes"));
}

TEST_CASE("a text that is no size is refused with its text", "[bytes]") {
  for (char const* text : {"",       " ",       "-1",  "+1",   "nan",   "inf",  "GB",    ".5GB",  "1.GB",
                           "1..5GB", "1.5.5GB", "4XB", "4GBx", "4 G B", "0x10", "1e3MB", "1,5GB", "50%",
                           "4bytes", "4gb",     "4Gb", "4GIB", "4iB",   "4Bi",  "4kiB",  "4KBB",  "4 4"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), Catch::Matchers::ContainsSubstring("cairn::byte_size: \"" + std::string{text} +
                                                        "\" is not a size in bytes; write "));
  }
}

TEST_CASE("the error for a unit without B names its two meanings", "[bytes]") {
  CHECK_THAT(refusal("4G"), Catch::Matchers::EndsWith("; write 4GB (10^9) or 4GiB (2^30)"));
  CHECK_THAT(refusal("1.5 m"), Catch::Matchers::EndsWith("; write 1.5MB (10^6) or 1.5MiB (2^20)"));
  CHECK_THAT(refusal("10ei"), Catch::Matchers::EndsWith("; write 10EB (10^18) or 10EiB (2^60)"));
  CHECK_THAT(refusal("4x"), Catch::Matchers::ContainsSubstring("write 4GB (10^9), 512MiB (2^20)"));
}

TEST_CASE("what was refused is quoted safely", "[bytes]") {
  CHECK_THAT(refusal("4\n\x01\xffG"), Catch::Matchers::ContainsSubstring("\"4???G\""));
  CHECK_THAT(refusal(std::string(1000, 'a').c_str()),
             Catch::Matchers::ContainsSubstring(std::string(40, 'a') + "...\" is not a size"));
  char const unterminated[] = {'4', 'G', 'B'};
  CHECK(byte_size{unterminated, 3} == 4_GB);
}

TEST_CASE("sizes that do not fit 64 bits are refused", "[bytes]") {
  CHECK(read("18446744073709551615") == ~std::uint64_t{0});
  CHECK(read("15EiB") == 15 * (std::uint64_t{1} << 60));
  for (char const* text : {"18446744073709551616", "16EiB", "20EB", "18446744073709551.616kB",
                           "99999999999999999999999999999999999999999999999999999999999999",
                           "340282366920938463463374607431768211456EiB"}) {
    CAPTURE(text);
    CHECK_THAT(refusal<cairn::overflow_error>(text),
               Catch::Matchers::ContainsSubstring("does not fit 64 bits; the largest size is 18446744073709551615B"));
  }
  CHECK_THAT(refusal("99999999999999999999XB"), Catch::Matchers::ContainsSubstring("is not a size"));
}

TEST_CASE("whole numbers are sizes", "[bytes]") {
  byte_size const from_int = 100;
  CHECK(from_int.count() == 100);
  CHECK(byte_size{~std::uint64_t{0}}.count() == ~std::uint64_t{0});
  CHECK(byte_size{cairn::wide{7}}.count() == 7);
  CHECK(byte_size{}.count() == 0);
  CHECK(byte_size{0}.count() == 0);
  CHECK_THROWS_AS(byte_size{-1}, cairn::invalid_size);
  CHECK_THROWS_AS(byte_size{cairn::wide{1} << 64}, cairn::overflow_error);
  CHECK(byte_size{3} < byte_size{4});
  CHECK_FALSE(std::is_convertible_v<double, byte_size>);
  CHECK_FALSE(std::is_convertible_v<bool, byte_size>);
  CHECK_FALSE(std::is_convertible_v<char, byte_size>);
  CHECK_FALSE(std::is_convertible_v<byte_size, std::uint64_t>);
}

TEST_CASE("literals are sizes at compile time", "[bytes]") {
  STATIC_REQUIRE(4_GB == byte_size{"4GB"});
  STATIC_REQUIRE(512_MiB == byte_size{"512MiB"});
  STATIC_REQUIRE(1_KiB == 1024);
  STATIC_REQUIRE(100_B == 100);
  STATIC_REQUIRE(1.5_GiB == 1'610'612'736);
  STATIC_REQUIRE(1'000_kB == 1_MB);
  STATIC_REQUIRE(1_KB == 1_kB);
  STATIC_REQUIRE(0.5_TB == 500_GB);
  STATIC_REQUIRE(1024_TiB == 1_PiB);
  STATIC_REQUIRE(15.999_EB < 18_EB);
  STATIC_REQUIRE(1_PB == 1000_TB);
  STATIC_REQUIRE(1024_PiB == 1_EiB);
  STATIC_REQUIRE(1024_KiB == 1_MiB);
  STATIC_REQUIRE(1024_GiB == 1_TiB);
}

TEST_CASE("the text of a size is read as the same size", "[bytes]") {
  mixer random;
  for (int k = 0; k < 20'000; ++k) {
    std::uint64_t size = random.next() >> (random.next() % 64);
    if (k % 3 == 1) size *= random.next() % 2 == 0 ? kilo * kilo : kibi * kibi * kibi;
    auto const text = cairn::to_text(byte_size{size});
    if (read(text.c_str()) != size) FAIL(size << " is printed as " << text.c_str());
  }
  CHECK(cairn::to_text(~std::uint64_t{0}).c_str() == std::string{"18446744073709551615B"});
  CHECK(cairn::to_text(0).c_str() == std::string{"0B"});
  CHECK(cairn::to_text(4_GB).c_str() == std::string{"4GB"});
  CHECK(cairn::to_text(512_MiB).c_str() == std::string{"512MiB"});
  CHECK(cairn::to_text(3_kB).c_str() == std::string{"3kB"});
  CHECK(cairn::to_text(1001).c_str() == std::string{"1001B"});
  CHECK(cairn::to_text(1024'000).c_str() == std::string{"1000KiB"});
}

TEST_CASE("the short text of a size has three digits", "[bytes]") {
  auto const text = [](cairn::wide bytes) { return std::string{cairn::to_short_text(bytes).c_str()}; };
  CHECK(text(0) == "0 B");
  CHECK(text(1023) == "1023 B");
  CHECK(text(1024) == "1.00 KiB");
  CHECK(text(1029) == "1.00 KiB");
  CHECK(text(1030) == "1.01 KiB");
  CHECK(text(33'030'144) == "31.5 MiB");
  CHECK(text(10'234) == "9.99 KiB");
  CHECK(text(10'235) == "10.0 KiB");
  CHECK(text(102'348) == "99.9 KiB");
  CHECK(text(102'349) == "100 KiB");
  CHECK(text(1'048'063) == "1023 KiB");
  CHECK(text(1'048'064) == "1.00 MiB");
  CHECK(text(~std::uint64_t{0}) == "16.0 EiB");
  CHECK(text(cairn::wide{1} << 74) == "16384 EiB");
  CHECK(cairn::to_short_text(4_GB).c_str() == std::string{"3.73 GiB"});
}
