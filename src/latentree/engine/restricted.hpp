// Restricted likelihood [ChenZhangWang, 2.4]: how far a move raises the likelihood when only its own tables change.
//
// All that a move leaves as it is hangs off the place of the move in branches whose messages are known. What is left is
// a tree of a few nodes with soft evidence, on which a few steps of EM from a few starts are cheap.
#pragma once
#include <vector>

#include "beliefs.hpp"
#include "random.hpp"

namespace latentree {

// In the order of search/_operators.py, which says what the nodes of each are.
enum class Operator { si, sd, ni, nd, nr, un, di, ne };

struct Move {
  Operator kind;
  Indices nodes;
};

// How long to look at a candidate: starts, steps of EM before half of them are dropped for the first time, steps of EM,
// and the gain below which it stops.
struct Effort {
  int starts = 4, first = 1, steps = 10;
  double tolerance = 0.1;
};

struct Evaluated {
  double log_likelihood = 0.0;  // the maximum restricted log-likelihood found
  Indices nodes;                // of the place, parents first; a new node has the number after the last
  Indices parent;               // positions; -1 for the first
  Indices states;
  std::vector<double> parameters;  // P(first), then P(node | parent) of the others: [states of the parent][states]
};

// From what the current model says, from random tables, or once from each.
enum class Start { model, random, both };

// Maximises the restricted likelihood of a move; a candidate that cannot come near the goal is given up early.
Evaluated evaluate(const Beliefs& beliefs, const Move& move, const Effort& effort, double goal, Start start,
                   Stream& rng);

}  // namespace latentree
