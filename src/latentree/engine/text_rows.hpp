// Coded columns as the lines of a text file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace latentree {

// One column: cells are codes into texts or, without texts, millionths of one; -1 is an empty cell.
struct TextColumn {
  const std::int32_t* codes;
  const char* text;          // all texts, one after the other
  const std::int64_t* ends;  // where each of them ends; null: the codes are millionths
};

constexpr std::int32_t kMillion = 1'000'000;

// Lines of `n_rows` rows, cells parted by `between`. Codes must be in range.
std::vector<char> text_rows(const std::vector<TextColumn>& columns, std::size_t n_rows, char between);

}  // namespace latentree
