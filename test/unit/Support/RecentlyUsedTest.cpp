// What a bounded map forgets, against a plain list of what was used.
#include "hocket/Support/RecentlyUsed.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace hocket;

namespace {
struct Entry {
  std::string key;
  int value;
  uint64_t weight;
};

/// The same by brute force; the last used stands at the end.
struct Plain {
  uint64_t limit;
  std::vector<Entry> order;

  const int *find(const std::string &key) {
    auto known = place(key);
    if (known == order.end())
      return nullptr;
    std::rotate(known, known + 1, order.end());
    return &order.back().value;
  }
  unsigned insert(const std::string &key, int value, uint64_t weight) {
    if (auto known = place(key); known != order.end())
      order.erase(known);
    order.push_back({key, value, weight});
    unsigned gone = 0;
    for (; total() > limit; ++gone)
      order.erase(order.begin());
    return gone;
  }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const Entry &entry : order)
      sum += entry.weight;
    return sum;
  }
  std::vector<Entry>::iterator place(const std::string &key) {
    return std::find_if(order.begin(), order.end(), [&](const Entry &e) { return e.key == key; });
  }
};
} // namespace

TEST(RecentlyUsed, HoldsWhatWasUsedLast) {
  const unsigned seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  RecentlyUsed<int> map(100);
  Plain plain{100, {}};
  for (int step = 0; step < 5000; ++step) {
    std::string key = "longer than a string holds in place " + std::to_string(random() % 20);
    if (random() % 2) {
      const int *found = map.find(key), *wanted = plain.find(key);
      ASSERT_EQ(found != nullptr, wanted != nullptr) << step;
      if (found)
        EXPECT_EQ(*found, *wanted) << step;
      continue;
    }
    uint64_t weight = random() % 120;
    ASSERT_EQ(map.insert(key, step, weight), plain.insert(key, step, weight)) << step;
    ASSERT_EQ(map.size(), plain.order.size()) << step;
    ASSERT_EQ(map.weight(), plain.total()) << step;
  }
}
