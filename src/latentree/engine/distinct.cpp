#include "distinct.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "kernels.hpp"

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

constexpr double kLeast = -700.0;  // below, exponentials are too small to matter

// The largest entry of each row of [states][rows].
std::vector<double> largest(const double* logs, std::size_t rows, std::size_t states) {
  std::vector<double> out(logs, logs + rows);
  for (std::size_t s = 1; s < states; ++s)
    for (std::size_t r = 0; r < rows; ++r) out[r] = std::max(out[r], logs[s * rows + r]);
  return out;
}

// Numbers keys as they come, equal ones alike: an open-addressing table.
template <class T>
class KeyNumbers {
 public:
  std::vector<T> key;  // the next one

  KeyNumbers(std::size_t most, std::size_t width) : key(width) {
    std::size_t size = 64;
    while (size < 2 * most) size *= 2;
    table_.assign(size, -1);
  }
  Index count() const { return count_; }
  Index number() {
    std::uint64_t hash = 0;
    for (const T part : key) {
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 32;
    }
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash & mask;
    while (table_[at] >= 0 &&
           !std::equal(key.begin(), key.end(), known_.begin() + std::ptrdiff_t(table_[at] * key.size())))
      at = (at + 1) & mask;
    if (table_[at] < 0) {
      table_[at] = count_++;
      known_.insert(known_.end(), key.begin(), key.end());
    }
    return table_[at];
  }

 private:
  std::vector<Index> table_;
  std::vector<T> known_;  // [count][width]
  Index count_ = 0;
};

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

Numbering number_pairs(const Indices& a, Index na, const Indices& b, Index nb) {
  const std::size_t n = a.size();
  Numbering out;
  out.id.resize(n);
  const std::int64_t cells = std::int64_t(na) * nb;
  if (cells <= std::int64_t(4 * n) + 4096) {
    Indices seen(static_cast<std::size_t>(cells), 0);
    for (std::size_t i = 0; i < n; ++i) seen[std::size_t(a[i]) * nb + b[i]] = 1;
    for (auto& s : seen) s = s ? out.count++ : -1;
    for (std::size_t i = 0; i < n; ++i) out.id[i] = seen[std::size_t(a[i]) * nb + b[i]];
    return out;
  }
  // counting sort by b, then by a; equal neighbours share an id
  Indices by_b(n), by_ab(n), start(static_cast<std::size_t>(std::max(na, nb)) + 1, 0);
  for (std::size_t i = 0; i < n; ++i) ++start[b[i] + 1];
  for (Index k = 0; k < nb; ++k) start[k + 1] += start[k];
  for (std::size_t i = 0; i < n; ++i) by_b[start[b[i]]++] = static_cast<Index>(i);
  std::fill(start.begin(), start.end(), 0);
  for (std::size_t i = 0; i < n; ++i) ++start[a[i] + 1];
  for (Index k = 0; k < na; ++k) start[k + 1] += start[k];
  for (std::size_t i = 0; i < n; ++i) by_ab[start[a[by_b[i]]]++] = by_b[i];
  for (std::size_t i = 0; i < n; ++i) {
    const Index r = by_ab[i];
    if (i > 0) {
      const Index q = by_ab[i - 1];
      if (a[q] != a[r] || b[q] != b[r]) ++out.count;
    }
    out.id[r] = out.count;
  }
  if (n > 0) ++out.count;
  return out;
}

Alike alike_rows(const double* logs, std::size_t rows, std::size_t states, double step) {
  Alike out;
  out.ids.resize(rows);
  out.scale = largest(logs, rows, states);
  KeyNumbers<std::int64_t> numbers(rows, states);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t s = 0; s < states; ++s)
      numbers.key[s] =
          static_cast<std::int64_t>(std::nearbyint(std::max(logs[s * rows + r] - out.scale[r], kLeast) / step));
    const Index before = numbers.count();
    out.ids[r] = numbers.number();
    if (numbers.count() > before)
      for (std::size_t s = 0; s < states; ++s) out.likelihood.push_back(std::exp(logs[s * rows + r] - out.scale[r]));
  }
  return out;
}

Alike similar_rows(const double* logs, const double* weights, std::size_t rows, std::size_t states, double width) {
  constexpr std::size_t kBlock = 256;
  const Kernels& kernel = kernels();
  Alike out;
  out.ids.resize(rows);
  out.scale = largest(logs, rows, states);
  KeyNumbers<std::uint16_t> numbers(rows, states);
  std::vector<double> block(states * kBlock), total;
  double sum[kBlock];
  for (std::size_t first = 0; first < rows; first += kBlock) {
    const std::size_t n = std::min(kBlock, rows - first);
    std::fill_n(sum, n, 0.0);
    for (std::size_t s = 0; s < states; ++s) {
      double* p = block.data() + s * kBlock;
      for (std::size_t i = 0; i < n; ++i) p[i] = std::max(logs[s * rows + first + i] - out.scale[first + i], kLeast);
      kernel.exp_all(p, p, n);
      for (std::size_t i = 0; i < n; ++i) sum[i] += p[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t r = first + i;
      for (std::size_t s = 0; s < states; ++s) {
        const double p = block[s * kBlock + i] /= sum[i];
        numbers.key[s] = static_cast<std::uint16_t>(std::sqrt(p) / width + 0.5);
      }
      out.scale[r] += std::log(sum[i]);
      const Index id = out.ids[r] = numbers.number();
      if (std::size_t(numbers.count()) > total.size()) {
        out.likelihood.insert(out.likelihood.end(), states, 0.0);
        total.push_back(0.0);
      }
      for (std::size_t s = 0; s < states; ++s) out.likelihood[id * states + s] += weights[r] * block[s * kBlock + i];
      total[id] += weights[r];
    }
  }
  for (std::size_t id = 0; id < total.size(); ++id)
    for (std::size_t s = 0; s < states; ++s)
      out.likelihood[id * states + s] =
          total[id] > 0.0 ? out.likelihood[id * states + s] / total[id] : 1.0 / double(states);
  return out;
}

}  // namespace latentree
