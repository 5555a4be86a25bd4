// A map that forgets: values of bounded weight, the longest unused go first.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace hocket {

/// Values of a total weight of at most `limit`. Not thread-safe.
template <typename Value, typename Key = std::string, typename Hash = std::hash<Key>>
class RecentlyUsed {
public:
  explicit RecentlyUsed(uint64_t limit) : limit(limit) {}

  /// The value of `key`, from now on the last that was used; null if there is none. Valid until the
  /// next `insert`.
  const Value *find(const Key &key) {
    auto known = places.find(&key);
    if (known == places.end())
      return nullptr;
    order.splice(order.begin(), order, known->second);
    return &known->second->value;
  }

  /// Keeps `value`, in place of another with this key, and lets go of the longest unused ones that
  /// are too much: of this one too if it alone is. Returns how many went.
  unsigned insert(Key key, Value value, uint64_t weight) {
    erase(key);
    order.push_front({std::move(key), std::move(value), weight});
    places.emplace(&order.front().key, order.begin());
    total += weight;
    unsigned gone = 0;
    for (; total > limit; ++gone)
      erase(std::prev(order.end()));
    return gone;
  }

  size_t size() const { return order.size(); }
  uint64_t weight() const { return total; }

private:
  struct Held {
    Key key;
    Value value;
    uint64_t weight;
  };
  using Place = typename std::list<Held>::iterator;

  struct HashOfKey {
    size_t operator()(const Key *key) const { return Hash()(*key); }
  };
  struct SameKey {
    bool operator()(const Key *a, const Key *b) const { return *a == *b; }
  };

  void erase(const Key &key) {
    if (auto known = places.find(&key); known != places.end())
      erase(known->second);
  }
  void erase(Place place) {
    total -= place->weight;
    places.erase(&place->key);
    order.erase(place);
  }

  uint64_t limit, total = 0;
  std::list<Held> order; ///< the last used first
  std::unordered_map<const Key *, Place, HashOfKey, SameKey> places; ///< keys lie in `order`
};

} // namespace hocket
