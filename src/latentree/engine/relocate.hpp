// Where each branch of a tree would hang best: for every branch and every latent node, how likely the branch is when it
// hangs there, all else staying as it is. The node is judged without the branch.
#pragma once
#include <vector>

#include "beliefs.hpp"

namespace latentree {

struct Moved {
  double stays = 0.0;  // log-likelihood of the branch where it hangs now, given all else
  std::vector<double>
      goes;  // [places]: the same where it would hang; nan: part of the branch, far away, or not worth a look
  std::vector<double> tables;  // [places][most states][states]: P(top | latent)
};

// A branch: its top node, the latent it hangs at, and by how much it must be likelier at each place to be worth it;
// empty: that is not known.
struct Branch {
  Index top, at;
  std::vector<double> needed;
};

// `places` are latents that hang together, those that the branches hang at among them.
//
// At most `passes` over the data: the first counts, the others are EM steps. Only the places with the best counts are
// followed. If it is known what is needed, a place is given up once a bound shows that it cannot do or cannot be the
// best of its branch; otherwise once it seems unable to catch up with where the branch hangs now.
// No more than `near` latents are looked at, the nearest.
std::vector<Moved> relocations(const Beliefs& beliefs, const Indices& places, const std::vector<Branch>& branches,
                               int passes, int near, int threads);

}  // namespace latentree
