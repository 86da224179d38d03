// Division of a latent: two latents take its place, each with some of its neighbours and with fewer states.
//
// What a division costs is known beforehand, from the completed data: on each side the states that say nearly the same
// about the neighbours there are merged, one pair after the other, so that no division need be fitted to be judged.
#pragma once
#include <functional>
#include <vector>

#include "network.hpp"

namespace latentree {

// Several tables P(neighbour | state) side by side: [states][all states of the neighbours].
struct Wide {
  Indices sizes;  // states of the neighbours
  Index states = 0, width = 0;
  std::vector<double> rows;
  const double* row(Index state) const { return rows.data() + std::size_t(state) * width; }
  double* row(Index state) { return rows.data() + std::size_t(state) * width; }
};
Wide side_by_side(const Network& network, Index a, const Indices& neighbours);

// Weight times the entropies of the distributions that stand side by side in a row.
double entropy(double weight, const double* row, Index width);

using Groups = std::vector<Indices>;
// States merged two at a time, those first that say most nearly the same, until two groups are left. `visit` gets the
// groups and what is lost so far, a row of the data counting 1, and says whether to go on. `luck` [states][states]
// multiplies what merging two groups loses, as far as the choice goes; empty: none.
void merge_states(const std::vector<double>& marginal, const Wide& wide, const std::vector<double>& luck,
                  const std::function<bool(const Groups&, double)>& visit);
// The group of each state when `size` groups are left.
Indices merged_groups(const std::vector<double>& marginal, const Wide& wide, Index size,
                      const std::vector<double>& luck);

// The share of the loss in completed data that is left at best when all is fitted.
constexpr double kLossLeft = 0.4;

struct Division {
  Indices below;     // neighbours that the new latent takes over
  Index own, fresh;  // states of the two
  double worth;      // by how much it raises the score, if what is lost in completed data were all
};

// Ways to divide a latent that may gain at least `least`, the most promising first. `n` is the number of rows, `rate`
// what a parameter costs. Of each way to part the neighbours, the best numbers of states are listed, `sizes` of them.
std::vector<Division> divisions(const Network& network, Index a, double n, double rate, double least, std::size_t most,
                                std::size_t sizes);

// Neighbours that do not tell some states of a latent apart, and may hang on a new latent with fewer states.
std::vector<Division> branches(const Network& network, Index a, double n, double rate, double least, std::size_t most);

}  // namespace latentree
