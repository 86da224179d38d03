// Where each branch of a tree would hang best: for every branch and every latent node, how likely the branch is when it
// hangs there, all else staying as it is. The node is judged without the branch.
#pragma once
#include <vector>

#include "plan.hpp"

namespace latentree {

// All arrays over rows are [states][rows]: the rows are what is vectorised.

// A message between two latents: all that `from` knows without `to`, and P(from | to).
struct Link {
  Index from, to;
  const double* cavity;  // [states of from][rows], largest entry of a row 1
  const double* table;   // [states of to][states of from]
};

// A branch that hangs at a latent: what it says about its own top node, and P(top | latent).
struct Branch {
  Index at;
  Index own;                 // the latent at its top; -1: it is a leaf
  const double* likelihood;  // [states][rows]
  const double* table;       // [states of at][states]
  const double* prior;       // [states]
  Index states;
  const double* needed;  // [latents]: by how much it must be likelier there to be worth it; nullptr: not known
};

struct Forest {
  std::vector<Index> states;             // of the latents
  std::vector<const double*> posterior;  // [states][rows]
  std::vector<Link> links;               // both directions of every edge
  const double* weights;
  Index rows;
};

struct Moved {
  double stays = 0.0;  // log-likelihood of the branch where it hangs now, given all else
  std::vector<double>
      goes;  // [latents]: the same where it would hang; nan: part of the branch, far away, or not worth a look
  std::vector<double> tables;  // [latents][most states][states]: P(top | latent)
};

// At most `passes` over the data: the first counts, the others are EM steps. Only the places with the best counts are
// followed. If it is known what is needed, a place is given up once a bound shows that it cannot do or cannot be the
// best of its branch; otherwise once it seems unable to catch up with where the branch hangs now.
// No more than `near` latents are looked at, the nearest.
std::vector<Moved> relocations(const Forest& forest, const std::vector<Branch>& branches, int passes, int near,
                               int threads);

}  // namespace latentree
