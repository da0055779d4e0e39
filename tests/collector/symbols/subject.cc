// SPDX-License-Identifier: Apache-2.0
// A program to be symbolized: calls inlined into each other, in namespaces, templates, lambdas and C.
#include "tests/collector/symbols/subject.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace subject {
namespace {

inline int Twice(int number) { return number + number + std::rand() % 3; }

inline int FourTimes(int number) {
  int twice = Twice(number);
  return Twice(twice) + std::rand() % 5;
}

int Sum(const std::vector<int>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0,
                         [](int sum, int number) { return sum + FourTimes(number); });
}

template <typename Key>
struct Index {
  explicit Index(int count) {
    for (int i = 0; i < count; ++i) entries[Key(i)] = Scaled(i);
  }
  int Find(const Key& key) const {
    auto found = entries.find(key);
    return found == entries.end() ? -1 : FourTimes(found->second);
  }
  std::map<Key, int> entries;
};

}  // namespace

[[gnu::noinline]] int Work(int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1);
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 7 < b % 7; });
  Index<int> index(count);
  Index<long> other(count);
  try {
    if (index.Find(count / 2) == count) throw std::string("found");
  } catch (const std::string& text) {
    return static_cast<int>(text.size());
  }
  return Sum(numbers) + other.Find(3);
}

}  // namespace subject

extern "C" [[gnu::noinline]] int plain_c_work(int count) { return subject::Work(count) + 1; }

int main(int argc, char** argv) {
  std::printf("%d\n", plain_c_work(argc > 1 ? std::atoi(argv[1]) : 100));
  return 0;
}
