// What every branch of a network says about the node it hangs on, row by row; and the few distinct things it says.
//
// All candidates of a search step stand on these messages: they are computed once for the current model.
// Arrays over rows are [states][rows]: the rows are what is vectorised.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "network.hpp"

namespace latentree {

// What is known about a node without some of its neighbours, once for each distinct row. A manifest node's value is
// what is known about it: then there is no likelihood.
struct Known {
  Indices ids;                     // per row; values may be -1, for missing
  std::vector<double> likelihood;  // [distinct rows][states]
  Index count = 0;                 // distinct rows, or values
  double scale = 0.0;              // weights times logarithms of what the rows were divided by, summed up
};

// A node as it is seen from outside: without some of its neighbours, and all behind them.
struct End {
  Index node;
  Indices without;
};

// The ends around a latent without two of its neighbours, and around these, in the order of their nodes.
std::vector<End> between(Index a, Index b, Index c);

// What hangs around a place in the tree: the distinct combinations of what its ends know.
class Surroundings {
 public:
  // The plan of a small tree whose `ends` (positions of its nodes) these are. It is kept for the next that
  // asks, and is the same whichever numbers of states the other nodes of the first that asks have.
  Plan plan(const Indices& parent, const Indices& states, const Indices& ends) const;

  std::vector<std::shared_ptr<const Known>> known;  // of each end
  std::vector<Indices> ids;                         // of each end, by combination
  std::vector<double> weights;                      // of the combinations
  Indices row;                                      // one that has the combination
  double scale = 0.0;

 private:
  struct Plans {
    std::mutex mutex;
    std::map<Indices, std::shared_ptr<const Plan>> by_shape;
    std::deque<Indices> order;  // shapes whose plans are kept, the oldest first
  };
  std::shared_ptr<Plans> plans_ = std::make_shared<Plans>();
};

class Beliefs {
 public:
  // `codes`: [columns][rows], -1 where missing. Messages are taken as one if they are the same, or in the same cell of
  // this `width`, if that is not zero.
  Beliefs(Network network, const std::int16_t* codes, const double* weights, Index rows, double width);

  const Network& network() const { return network_; }
  Index rows() const { return rows_; }
  const double* weights() const { return weights_; }
  const std::int16_t* codes(Index v) const { return codes_ + std::size_t(v) * rows_; }

  std::vector<double> row_log_likelihood() const;                           // [rows]
  const std::vector<double>& total(Index v) const { return total_.at(v); }  // log P(row | state of a latent)
  std::vector<double> posterior(Index v) const;                             // P(state of a latent | row)
  std::vector<double> posterior(Index v, const std::vector<double>& total) const;
  std::vector<double> about(const End& end) const;   // log P(rows | state), some neighbours left out
  std::vector<double> cavity(const End& end) const;  // P(rows | state), the largest entry of each row 1

  // `total` of every latent on a's side when the branch that hangs at a by z is taken away; empty for the others.
  // z goes to many places one after the other: the last few are kept.
  std::shared_ptr<const std::vector<std::vector<double>>> parted(Index z, Index a) const;

  // Found when first asked for, and kept.
  std::shared_ptr<const Known> known(const End& end) const;
  std::shared_ptr<const Surroundings> surroundings(const std::vector<End>& ends) const;
  Known distinct(Index states, const std::vector<double>& logs) const;

 private:
  void pass();
  std::vector<double> sent(Index u, Index v) const;  // from u to its latent neighbour v
  std::vector<double> carried(Index u, Index v, const std::vector<double>& logs) const;

  Network network_;
  const std::int16_t* codes_;
  const double* weights_;
  Index rows_;
  double width_;
  std::vector<std::vector<double>> total_;                       // of latents
  std::map<std::pair<Index, Index>, std::vector<double>> sent_;  // between latents
  mutable std::mutex mutex_;
  mutable std::map<Indices, std::shared_ptr<const Known>> known_;
  mutable std::map<Indices, std::shared_ptr<const Surroundings>> surroundings_;
  mutable std::deque<Indices> passing_;  // those of pairs of neighbours, of which there are many: the last few are kept
  mutable std::deque<std::pair<std::pair<Index, Index>, std::shared_ptr<const std::vector<std::vector<double>>>>>
      parted_;
};

// The combinations of what several ends know that occur.
Surroundings combine(const std::vector<std::shared_ptr<const Known>>& known, const double* weights, Index rows);

}  // namespace latentree
