#include "distinct.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace latentree {
namespace {

// Open-addressed set of keys of `words` 64-bit words; returns the number of a key, new or old.
class KeySet {
 public:
  explicit KeySet(std::size_t words) : words_(words), slots_(1u << 12, -1) {}

  Index insert(const std::uint64_t* key, bool& is_new) {
    std::uint64_t h = 0;
    for (std::size_t i = 0; i < words_; ++i) {
      h = (h ^ key[i]) * 0x9E3779B97F4A7C15ull;
      h ^= h >> 32;
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(h * 0xD6E8FEB86659FD93ull >> 20) & mask;
    for (; slots_[at] >= 0; at = (at + 1) & mask)
      if (std::memcmp(&keys_[std::size_t(slots_[at]) * words_], key, words_ * 8) == 0) {
        is_new = false;
        return slots_[at];
      }
    is_new = true;
    const Index id = count_++;
    slots_[at] = id;
    keys_.insert(keys_.end(), key, key + words_);
    hashes_.push_back(h);
    if (std::size_t(count_) * 2 > slots_.size()) grow();
    return id;
  }

 private:
  void grow() {
    slots_.assign(slots_.size() * 4, -1);
    const std::size_t mask = slots_.size() - 1;
    for (Index id = 0; id < count_; ++id) {
      std::size_t at = static_cast<std::size_t>(hashes_[id] * 0xD6E8FEB86659FD93ull >> 20) & mask;
      while (slots_[at] >= 0) at = (at + 1) & mask;
      slots_[at] = id;
    }
  }

  std::size_t words_;
  Indices slots_;
  std::vector<std::uint64_t> keys_, hashes_;
  Index count_ = 0;
};

int bits_for(Index states) {  // codes -1 .. states-1, shifted by one
  int bits = 1;
  while ((std::int64_t(1) << bits) < std::int64_t(states) + 1) ++bits;
  return bits;
}

}  // namespace

Distinct distinct_rows(const std::vector<const std::int16_t*>& columns, const std::vector<Index>& states,
                       std::int64_t n_rows) {
  // rows are packed into as few words as their codes need
  std::vector<std::size_t> word(columns.size());
  std::vector<int> shift(columns.size());
  std::size_t words = 1;
  int used = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const int bits = bits_for(states[c]);
    if (used + bits > 64) {
      ++words;
      used = 0;
    }
    word[c] = words - 1;
    shift[c] = used;
    used += bits;
  }
  bool in_range = true;
  Distinct out;
  out.inverse.resize(static_cast<std::size_t>(n_rows));
  KeySet set(words);
  constexpr std::int64_t kChunk = 1024;
  std::vector<std::uint64_t> keys(words * kChunk);
  for (std::int64_t r0 = 0; r0 < n_rows; r0 += kChunk) {
    const std::int64_t n = std::min(kChunk, n_rows - r0);
    std::fill(keys.begin(), keys.end(), 0);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::int16_t* column = columns[c] + r0;
      std::uint64_t* key = keys.data() + word[c];
      const Index k = states[c];
      for (std::int64_t i = 0; i < n; ++i) {
        in_range &= column[i] >= -1 && column[i] < k;
        key[i * words] |= std::uint64_t(column[i] + 1) << shift[c];
      }
    }
    if (!in_range) throw std::invalid_argument("codes must be -1 or a state of their column");
    for (std::int64_t i = 0; i < n; ++i) {
      bool is_new;
      out.inverse[r0 + i] = set.insert(&keys[i * words], is_new);
      if (is_new) out.first.push_back(r0 + i);
    }
  }
  return out;
}

Alike alike_rows(const double* logs, std::size_t rows, std::size_t states, double step) {
  constexpr double kLeast = -700.0;  // below, exponentials are too small to matter
  Alike out;
  out.ids.resize(rows);
  out.scale.resize(rows);
  std::size_t size = 64;
  while (size < 2 * rows) size *= 2;
  std::vector<Index> table(size, -1);  // open addressing: numbers of distinct rows
  std::vector<std::int64_t> keys;      // [distinct rows][states]
  std::vector<std::int64_t> own(states);
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = logs + r * states;
    const double top = out.scale[r] = *std::max_element(row, row + states);
    std::uint64_t hash = 0;
    for (std::size_t s = 0; s < states; ++s) {
      own[s] = static_cast<std::int64_t>(std::nearbyint(std::max(row[s] - top, kLeast) / step));
      hash = (hash ^ static_cast<std::uint64_t>(own[s])) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 32;
    }
    std::size_t at = hash & (size - 1);
    while (table[at] >= 0 && !std::equal(own.begin(), own.end(), keys.begin() + std::ptrdiff_t(table[at] * states)))
      at = (at + 1) & (size - 1);
    if (table[at] < 0) {
      table[at] = static_cast<Index>(keys.size() / states);
      keys.insert(keys.end(), own.begin(), own.end());
      for (std::size_t s = 0; s < states; ++s) out.likelihood.push_back(std::exp(row[s] - top));
    }
    out.ids[r] = table[at];
  }
  return out;
}

}  // namespace latentree
