#include "text_rows.hpp"

#include <cstring>

namespace latentree {
namespace {

constexpr std::size_t kLongest = 8;  // 0.123456

// n millionths as Python writes the number: the fewest digits that tell it from others.
char* write_millionths(char* at, std::int32_t n) {
  if (n == 0 || n == kMillion) {
    std::memcpy(at, n == 0 ? "0.0" : "1.0", 3);
    return at + 3;
  }
  if (n < 100) {  // below 0.0001 Python writes an exponent: 1.2e-05
    const bool two = n >= 10;
    *at++ = static_cast<char>('0' + (two ? n / 10 : n));
    if (two && n % 10 != 0) {
      *at++ = '.';
      *at++ = static_cast<char>('0' + n % 10);
    }
    std::memcpy(at, two ? "e-05" : "e-06", 4);
    return at + 4;
  }
  int digits = 6;
  while (n % 10 == 0) {
    n /= 10;
    --digits;
  }
  std::memcpy(at, "0.", 2);
  at += 2;
  for (int i = digits - 1; i >= 0; --i) {
    at[i] = static_cast<char>('0' + n % 10);
    n /= 10;
  }
  return at + digits;
}

std::size_t size_of(const TextColumn& c, std::size_t n_rows) {
  if (c.ends == nullptr) return n_rows * kLongest;
  std::size_t size = 0;
  for (std::size_t r = 0; r < n_rows; ++r)
    if (const std::int32_t code = c.codes[r]; code >= 0)
      size += static_cast<std::size_t>(c.ends[code] - (code > 0 ? c.ends[code - 1] : 0));
  return size;
}

}  // namespace

std::vector<char> text_rows(const std::vector<TextColumn>& columns, std::size_t n_rows, char between) {
  std::size_t most = n_rows * columns.size();  // what parts the cells, and the ends of the lines
  for (const TextColumn& c : columns) most += size_of(c, n_rows);
  std::vector<char> out(most);
  char* at = out.data();
  for (std::size_t r = 0; r < n_rows; ++r) {
    for (const TextColumn& c : columns) {
      const std::int32_t code = c.codes[r];
      if (code >= 0 && c.ends == nullptr) {
        at = write_millionths(at, code);
      } else if (code >= 0) {
        const std::int64_t begin = code > 0 ? c.ends[code - 1] : 0;
        const std::size_t length = static_cast<std::size_t>(c.ends[code] - begin);
        std::memcpy(at, c.text + begin, length);
        at += length;
      }
      *at++ = between;
    }
    if (!columns.empty()) at[-1] = '\n';
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
  return out;
}

}  // namespace latentree
