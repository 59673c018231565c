// SPDX-License-Identifier: Apache-2.0
// Runs one fuzzer over its corpus and over changed and joined texts of it: the same ones each time.
//     fuzz_x [--runs N] [--seed S] FOLDER
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

std::string input;  // under way

void show_input(int signal) {
  std::fputs("fuzz: the text was\n", stderr);
  std::fwrite(input.data(), 1, input.size(), stderr);
  std::fputc('\n', stderr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}
void run(std::string text) {
  input = std::move(text);
  LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(input.data()), input.size());
}

class changes {
 public:
  changes(std::vector<std::string> const& corpus, unsigned long seed) : corpus_{corpus}, numbers_{seed} {}

  [[nodiscard]] std::string next() {
    std::string text = any();
    for (std::size_t k = 1 + below(4); k > 0; --k) change(text);
    return text.substr(0, 4096);
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t end) { return end == 0 ? 0 : std::size_t(numbers_() % end); }
  [[nodiscard]] std::string const& any() { return corpus_[below(corpus_.size())]; }
  [[nodiscard]] std::string piece(std::string const& of) {
    std::size_t const first = below(of.size() + 1);
    return of.substr(first, 1 + below(16));
  }
  void change(std::string& text) {
    static char const* const words[] = {"0",
                                        "-1",
                                        "1",
                                        "2",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "340282366920938463463374607431768211456",
                                        "1e308",
                                        "1.5",
                                        "nan",
                                        "null",
                                        "true",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        ",",
                                        ":",
                                        "\n",
                                        "\r\n",
                                        " ",
                                        "\\u0000",
                                        "\xEF\xBB\xBF",
                                        "\xff",
                                        "EiB",
                                        "k"};
    std::size_t const at = below(text.size() + 1);
    switch (below(8)) {
      case 0: text.insert(at, words[below(std::size(words))]); break;
      case 1: text.insert(at, 1, char(numbers_())); break;
      case 2: text.erase(at, 1 + below(8)); break;
      case 3:
        if (at < text.size()) text[at] = char(text[at] ^ (1 << below(8)));
        break;
      case 4: text.insert(at, piece(any())); break;
      case 5: text.replace(at, below(8), piece(text)); break;
      case 6: {
        std::string const& other = any();
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      }
      default: {  // a number for another
        std::size_t const first = text.find_first_of("0123456789", at);
        if (first == text.npos) break;
        std::size_t const last = std::min(text.find_first_not_of("0123456789", first), text.size());
        text.replace(first, last - first, below(2) ? words[below(8)] : std::to_string(below(40)));
      }
    }
  }
  std::vector<std::string> const& corpus_;
  std::mt19937_64 numbers_;
};

}  // namespace

int main(int count, char** words) {
  long runs = 10'000;
  unsigned long seed = 1;
  std::vector<std::filesystem::path> files;
  for (int k = 1; k < count; ++k) {
    bool const has_more = k + 1 < count;
    if (has_more && std::strcmp(words[k], "--runs") == 0) runs = std::atol(words[++k]);
    else if (has_more && std::strcmp(words[k], "--seed") == 0) seed = std::strtoul(words[++k], nullptr, 10);
    else
      for (auto const& entry : std::filesystem::directory_iterator{words[k]}) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (auto const& name : files) {
    std::ifstream file{name, std::ios::binary};
    corpus.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  fuzz::require(!corpus.empty(), "there is a corpus");
  for (int const signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, show_input);
  for (auto const& text : corpus) run(text);
  changes more{corpus, seed};
  for (long k = 0; k < runs; ++k) run(more.next());
  std::printf("%zu texts and %ld changed ones\n", corpus.size(), runs);
}
