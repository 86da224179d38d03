// Posterior samples of latent class models: Gibbs sampling and reversible jump [Whiley1999, chapter 5], with the
// allocation and without it.
// Rows are distinct patterns with counts: a pattern's copies are allocated by one multinomial draw.
// The files of latentree/bayes hold the same moves in NumPy, where they read like the paper.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "random.hpp"

namespace latentree {

using Count = std::int64_t;

enum class Move { weights, parameters, allocation, split_combine, birth_death, n_classes, marginal };
enum class Try { split, combine, birth, death, n };  // what is counted: tried and accepted

// Patterns as lists of cells; a cell is a state of a leaf, and a missing value has none.
struct Patterns {
  std::vector<int> states;           // of each leaf
  std::vector<int> offsets;          // first cell of each leaf, then the number of cells
  std::vector<int> cells;            // of all patterns, one after the other
  std::vector<int> begin;            // where a pattern's cells begin
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
  double scale = 1.5;                 // s of the simplex split
  int tries = 4;                      // marginal jumps of each kind in a sweep
  double informed = 1.0;              // how often a marginal birth sees the row it starts from
  double small = 50.0;                // half of the marginal births have a weight of about 1/small
};

struct Chain {
  int k;
  std::vector<double> log_weights;  // [kmax]
  std::vector<double> log_theta;    // [kmax][cells]
  std::vector<Count> members;       // [kmax][patterns]: copies of each pattern in each class
  Stream stream;
  std::vector<Count> tried = std::vector<Count>(int(Try::n)), accepted = std::vector<Count>(int(Try::n));
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
  struct Split;
  struct Densities;

  // Gibbs (sampler.cpp)
  void draw_weights(Chain& c) const;
  void draw_parameters(Chain& c) const;
  void allocate(Chain& c) const;
  double log_density(const double* log_theta, int pattern) const;              // ln f(y | theta)
  std::pair<double, double> log_densities(const Split& s, int pattern) const;  // of the two
  double log_density(const Chain& c, int j, int pattern) const {
    return log_density(c.log_theta.data() + std::size_t(j) * rows_.n_cells(), pattern);
  }
  void draw_dirichlets(Stream& stream, const std::vector<double>& alpha, double* log_theta) const;
  // reversible jump (jump.cpp)
  void split_or_combine(Chain& c) const;
  void birth_or_death(Chain& c) const;
  bool propose(Chain& c, Split& s) const;
  void restore(const Chain& c, Split& s) const;
  bool choose_split(Chain& c, Split& s) const;
  void choose_pair(Chain& c, Split& s) const;
  void put_two(Chain& c, const Split& s) const;
  void put_one(Chain& c, const Split& s) const;
  double log_members_ratio(const Chain& c, const Split& s) const;
  double log_split_terms(const Split& s, int k) const;
  double log_birth_ratio(int k, int empty, double log_p, double log_rest) const;
  double log_theta_prior(const double* log_theta) const;
  double chance_up(int k) const;
  void drop(Chain& c, int j) const;
  // the same without the allocation (marginal.cpp)
  void jump_marginal(Chain& c) const;
  void split_or_combine_marginal(Chain& c, Densities& d) const;
  void birth_or_death_marginal(Chain& c, Densities& d) const;
  void fill(const Chain& c, Densities& d) const;
  std::vector<double> rest(const Chain& c, const Densities& d, int j1, int j2) const;
  double log_birth_terms(int k, double log_p, double log_rest) const;
  double log_weight_proposal(double log_rest, int k) const;
  double log_prior_over_proposal(const std::vector<double>& log_f) const;
  void draw_n_classes(Chain& c) const;
  int gather_occupied(Chain& c) const;

  Patterns rows_;
  Settings settings_;
  std::vector<double> log_row_;  // of each pattern: ln of its share of the rows times what seeing it does to the priors
  std::vector<double> log_given_;  // [t][k]: ln P(k | t occupied classes)
};

double log_sum(double a, double b);

}  // namespace latentree
