// Posterior samples of latent class models: Gibbs sampling, reversible jump (W chapter 5) and a sampler of partitions.
// Rows are distinct patterns with counts: a pattern's copies are allocated by one multinomial draw.
// The files of latentree/bayes hold the same moves in NumPy, where they read like the paper.
#pragma once
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace latentree {

using Count = std::int64_t;

enum class Move { weights, parameters, allocation, split_combine, birth_death, partition, n_classes };
enum class Try { split, combine, birth, death, part, unite, n };  // what is counted: tried and accepted

// Patterns as lists of cells; a cell is a state of a leaf, and a missing value has none.
struct Patterns {
  std::vector<int> states;   // of each leaf
  std::vector<int> offsets;  // first cell of each leaf, then the number of cells
  std::vector<int> cells;    // of all patterns, one after the other
  std::vector<int> begin;    // where a pattern's cells begin
  std::vector<Count> weights, ends;  // copies of each pattern, and their running sum
  Count n = 0;

  Patterns(std::vector<int> states, const std::int16_t* codes, std::vector<Count> weights);
  int size() const { return static_cast<int>(weights.size()); }
  int n_cells() const { return offsets.back(); }
  int n_leaves() const { return static_cast<int>(states.size()); }
};

struct Settings {
  double delta1 = 1.0, delta2 = 1.0;  // Dirichlet parameters of the weights and of the leaves
  std::vector<double> log_prior;      // ln P(k), k = 1 ... kmax
  bool simplex = true;                // split on the simplex, or as the source does
  double scale = 1.0;                 // s of the simplex split
  int launch = 4;                     // EM steps before members are parted
  int pieces = 4;                     // a pattern's copies are parted in at most so many pieces
  double trust = 0.5;                 // what a member counts in the launch, against one already parted
};

struct Chain {
  int k;
  std::vector<double> log_weights;  // [kmax]
  std::vector<double> log_theta;    // [kmax][cells]
  std::vector<Count> members;       // [kmax][patterns]: copies of each pattern in each class
  Stream stream;
  std::vector<Count> tried = std::vector<Count>(int(Try::n)), accepted = std::vector<Count>(int(Try::n));
};

// ln Gamma(a + n) - ln Gamma(a) for whole n, from a table where that is small enough.
class LogRising {
 public:
  LogRising(double a, Count most);
  double operator()(Count n) const {
    return n < static_cast<Count>(table_.size()) ? table_[n] : log_gamma(a_ + double(n)) - at_zero_;
  }

 private:
  double a_, at_zero_;
  std::vector<double> table_;
};

class Sampler {
 public:
  Sampler(Patterns patterns, Settings settings);
  const Patterns& patterns() const { return rows_; }
  int kmax() const { return static_cast<int>(settings_.log_prior.size()); }

  void make(Chain& chain, Move move) const;
  double log_likelihood(const Chain& chain) const;
  void count(const Chain& chain, int j, Count* sizes, Count* cells) const;  // size and cell counts of class j

 private:
  // Gibbs (sampler.cpp)
  void draw_weights(Chain& c) const;
  void draw_parameters(Chain& c) const;
  void allocate(Chain& c) const;
  double log_density(const Chain& c, int j, int pattern) const;  // ln f(y | theta_j)
  // reversible jump (jump.cpp)
  void split_or_combine(Chain& c) const;
  void birth_or_death(Chain& c) const;
  struct Split;
  bool propose(Chain& c, Split& s) const;
  void restore(const Chain& c, Split& s) const;
  double log_split_ratio(const Chain& c, const Split& s, int k) const;
  double log_birth_ratio(int k, int empty, double log_p, double log_rest) const;
  double log_theta_prior(const double* log_theta) const;
  double chance_up(int k) const;
  void drop(Chain& c, int j) const;
  // partitions (partition.cpp)
  struct Parting;
  void part_or_unite(Chain& c) const;
  void draw_n_classes(Chain& c) const;
  void launch(Parting& p) const;
  double part(Parting& p, Stream& stream, bool draw) const;
  double log_evidence(const std::vector<Count>& cells) const;
  int gather_occupied(Chain& c) const;

  Patterns rows_;
  Settings settings_;
  LogRising rising1_, rising2_;
  std::vector<LogRising> rising_leaf_;  // of r delta2, for each leaf
  std::vector<double> log_given_;       // [t][k]: ln of P(k) k!/(k-t)! Gamma(k d1)/Gamma(k d1 + N)
  std::vector<double> log_v_;           // its sum over k, for each number t of occupied classes
};

double log_sum(double a, double b);

}  // namespace latentree
