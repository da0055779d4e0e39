// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer where there is no libFuzzer: over its seeds, then for a second over changed ones, always the
// same. A failure can be looked at under a debugger by running it again.
//
//   NAME_fuzz [-seed_inputs=FILE,…] [DIRECTORY…]
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes);
extern "C" [[gnu::weak]] int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

constexpr std::string_view kSeedOption = "-seed_inputs=";
constexpr std::chrono::seconds kDuration{1};
constexpr size_t kLargestInsertion = 64;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> ReadSeeds(int argc, char** argv) {
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kSeedOption)) {
      std::istringstream files{std::string(argument.substr(kSeedOption.size()))};
      for (std::string file; std::getline(files, file, ',');) seeds.push_back(ReadFile(file));
    } else if (!argument.starts_with("-")) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) seeds.push_back(ReadFile(entry.path()));
    }
  }
  std::sort(seeds.begin(), seeds.end());  // a directory has no order
  seeds.emplace_back();
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string Next() {
    std::string input = AnySeed();
    for (size_t edits = 1 + Below(8); edits > 0; --edits) Edit(&input);
    return input;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& AnySeed() { return seeds_[Below(seeds_.size())]; }

  void Edit(std::string* input) {
    static constexpr char kEdges[] = {0, 1, 0x7f, -128, -1};
    const size_t place = Below(input->size());
    const size_t length = Below(std::min(input->size() - place, kLargestInsertion) + 1);
    switch (Below(6)) {
      case 0:
        if (!input->empty()) (*input)[place] = static_cast<char>((*input)[place] ^ (1 << Below(8)));
        break;
      case 1:
        if (!input->empty()) (*input)[place] = kEdges[Below(std::size(kEdges))];
        break;
      case 2: input->erase(place, length); break;
      case 3: input->insert(place, std::string(*input, Below(input->size()), length)); break;
      case 4: input->insert(place, 1 + Below(8), static_cast<char>(random_())); break;
      default: {
        const std::string& other = AnySeed();
        input->replace(place, std::string::npos, other, Below(other.size()), std::string::npos);
      }
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;  // its default seed
};

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  const std::vector<std::string> seeds = ReadSeeds(argc, argv);
  for (const std::string& seed : seeds) Run(seed);
  Mutator mutator(seeds);
  size_t changed = 0;
  const auto end = std::chrono::steady_clock::now() + kDuration;
  for (; std::chrono::steady_clock::now() < end; ++changed) Run(mutator.Next());
  std::printf("%zu seeds, %zu changed ones\n", seeds.size(), changed);
  return changed == 0 ? 1 : 0;
}
