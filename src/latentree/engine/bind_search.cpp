// What a search asks about a network and a table, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "arrays.hpp"
#include "beliefs.hpp"
#include "dependence.hpp"
#include "division.hpp"
#include "relocate.hpp"
#include "restricted.hpp"
#include "team.hpp"

namespace nb = nanobind;
using namespace latentree;

namespace {

using Vector = In<double, nb::ndim<1>>;
using Matrix = In<double, nb::ndim<2>>;
using IntVector = In<std::int32_t, nb::ndim<1>>;
using Codes = nb::ndarray<const std::int16_t, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using EdgeArrays = std::tuple<Index, Index, Matrix>;
// kind, nodes, starts, steps, least gain, goal, from what (0: the model, 1: random tables, 2: both)
using Task = std::tuple<int, std::vector<Index>, int, int, int, double, double, int>;

constexpr int kOperators = static_cast<int>(Operator::ne) + 1;
// States of all nodes together, and rows: so that no count of either overflows.
constexpr Index kMostStates = 1 << 30, kMostRows = std::numeric_limits<Index>::max() - (1 << 20);

void check_distribution(const double* p, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) require(p[i] >= 0.0 && p[i] <= 1.0 + 1e-9, "probabilities");
}

void check_tree(Index n, const std::vector<Edge>& edges, Index n_manifest) {
  require(edges.size() + 1 == std::size_t(n), "a tree has one edge less than nodes");
  std::vector<Indices> around(n);
  for (const Edge& e : edges) {
    require(e.a >= 0 && e.a < e.b && e.b < n, "edges join two nodes, the smaller first");
    around[e.a].push_back(e.b);
    around[e.b].push_back(e.a);
  }
  for (Index v = 0; v < n_manifest; ++v)
    require(around[v].size() == 1 && around[v][0] >= n_manifest, "manifest nodes are leaves at latents");
  Indices ahead{0};
  std::vector<char> seen(n, 0);
  seen[0] = 1;
  for (std::size_t i = 0; i < ahead.size(); ++i)
    for (Index u : around[ahead[i]])
      if (!seen[u]) {
        seen[u] = 1;
        ahead.push_back(u);
      }
  require(ahead.size() == std::size_t(n), "a tree hangs together");
}

// Beliefs, with the arrays that they look into.
struct Bound {
  Codes codes;
  Vector weights;
  std::vector<Index> numbers;  // what Python calls the nodes, ascending
  Beliefs beliefs;

  const Network& net() const { return beliefs.network(); }

  Index node(Index number) const {
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
    require(at != numbers.end() && *at == number, "no such node");
    return static_cast<Index>(at - numbers.begin());
  }
  Index latent(Index number) const {
    const Index v = node(number);
    require(net().is_latent(v), "a latent node");
    return v;
  }
  Index neighbour(Index number, Index of) const {
    const Index v = node(number);
    const Indices& around = net().neighbours[of];
    require(std::binary_search(around.begin(), around.end(), v), "a neighbour");
    return v;
  }
  Index called(Index v) const { return v < net().n_nodes() ? numbers[v] : numbers.back() + 1; }
};

Network network_of(Index n_manifest, const IntVector& states, const std::vector<Vector>& marginals,
                   const std::vector<EdgeArrays>& edges, const std::vector<Index>& numbers) {
  const std::size_t n = states.size();
  require(n_manifest >= 1 && std::size_t(n_manifest) < n && marginals.size() == n && numbers.size() == n,
          "a manifest and a latent node at least, and as many numbers and marginals as nodes");
  require(numbers[0] >= 0 && numbers[n - 1] < std::numeric_limits<Index>::max(), "a number that a new node can have");
  std::vector<std::vector<double>> own;
  std::int64_t all = 0;
  for (std::size_t v = 0; v < n; ++v) {
    require(states(v) >= 1 && marginals[v].size() == std::size_t(states(v)), "a probability for each state");
    require((all += states(v)) <= kMostStates, "fewer states");
    require(v == 0 || numbers[v] > numbers[v - 1], "numbers in order");
    check_distribution(marginals[v].data(), marginals[v].size());
    own.push_back(copy<double>(marginals[v]));
  }
  std::vector<Edge> joined;
  for (const auto& [a, b, joint] : edges) {
    require(a >= 0 && a < b && std::size_t(b) < n, "edges join two nodes, the smaller first");
    require(joint.shape(0) == std::size_t(states(a)) && joint.shape(1) == std::size_t(states(b)), "a table that fits");
    check_distribution(joint.data(), joint.size());
    joined.push_back({a, b, joint.data()});
  }
  check_tree(static_cast<Index>(n), joined, n_manifest);
  return make_network(n_manifest, copy<Index>(states), std::move(own), joined);
}

void check_codes(const Network& net, const Codes& codes) {
  require(codes.shape(1) == std::size_t(net.n_manifest), "a column for each manifest node");
  require(codes.shape(0) > 0 && codes.shape(0) <= std::size_t(kMostRows), "some rows");
  const std::size_t rows = codes.shape(0);
  for (Index v = 0; v < net.n_manifest; ++v)
    for (std::size_t r = 0; r < rows; ++r) {
      const std::int16_t x = codes.data()[std::size_t(v) * rows + r];
      require(x >= -1 && x < net.states[v], "codes must be -1 or a state of their column");
    }
}

void check_weights(const Vector& weights, std::size_t rows) {
  require(weights.size() == rows, "a weight for each row");
  for (std::size_t r = 0; r < rows; ++r)
    require(std::isfinite(weights(r)) && weights(r) >= 0.0, "weights are finite, and none is negative");
}

Move move_of(const Bound& b, int kind, const std::vector<Index>& given) {
  require(kind >= 0 && kind < kOperators, "no such operator");
  const auto op = static_cast<Operator>(kind);
  const std::size_t n = given.size();
  auto states = [](Index k) { require(k >= 1 && k < 4096, "a number of states"); };
  require(n >= 1, "the nodes of a move");
  Move move{op, given};
  Indices& own = move.nodes;
  switch (op) {
    case Operator::si:
    case Operator::sd:
      require(n == 1 || (op == Operator::si && n == 2), "the nodes of a move");
      own[0] = b.latent(given[0]);
      if (n == 2) states(given[1]);
      require(n == 1 || given[1] >= b.net().states[own[0]], "no fewer states");
      require(op == Operator::si ? n == 1 || given[1] > 1 : b.net().states[own[0]] > 1, "states to change");
      return move;
    case Operator::ni:
      require((n == 3 || n == 4) && given[1] != given[2], "the nodes of a move");
      own[0] = b.latent(given[0]);
      own[1] = b.neighbour(given[1], own[0]);
      own[2] = b.neighbour(given[2], own[0]);
      if (n == 4) states(given[3]);
      require(n == 3 || given[3] <= b.net().states[own[0]], "no more states than the latent has");
      return move;
    case Operator::nd:
      require(n == 2, "the nodes of a move");
      own[0] = b.latent(given[0]);
      own[1] = b.neighbour(given[1], own[0]);
      require(b.net().is_latent(own[1]), "a latent node");
      return move;
    case Operator::nr: {
      require(n == 3, "the nodes of a move");
      own[1] = b.latent(given[1]);
      own[0] = b.neighbour(given[0], own[1]);
      own[2] = b.latent(given[2]);
      Indices ahead{own[1]}, from{own[0]};  // c must be on a's side
      bool found = false;
      for (std::size_t i = 0; i < ahead.size() && !found; ++i) {
        found = ahead[i] == own[2];
        for (Index u : b.net().neighbours[ahead[i]])
          if (u != from[i]) ahead.push_back(u), from.push_back(ahead[i]);
      }
      require(found, "a place outside the branch");
      return move;
    }
    case Operator::un:
      require(n == 3, "the nodes of a move");
      own[0] = b.latent(given[0]);
      own[1] = b.neighbour(given[1], own[0]);
      require(b.net().is_latent(own[1]), "a latent node");
      states(given[2]);
      require(given[2] <= std::int64_t(b.net().states[own[0]]) * b.net().states[own[1]], "no more states than pairs");
      return move;
    case Operator::di:
      require(n >= 5, "the nodes of a move");
      own[0] = b.latent(given[0]);
      for (std::size_t i = 1; i + 2 < n; ++i) {
        own[i] = b.neighbour(given[i], own[0]);
        require(std::count(given.begin() + 1, given.end() - 2, given[i]) == 1, "each neighbour once");
      }
      for (std::size_t i = n - 2; i < n; ++i) {
        states(given[i]);
        require(given[i] >= 2 && given[i] <= b.net().states[own[0]], "states of two smaller latents");
      }
      return move;
    case Operator::ne:
      require(n == 3, "the nodes of a move");
      own[0] = b.latent(given[0]);
      own[1] = b.neighbour(given[1], own[0]);
      states(given[2]);
      require(given[2] <= b.net().states[own[0]], "no more states than the latent has");
      return move;
  }
  return move;
}

// A stream of its own for each candidate, whatever the threads and however many are looked at in one call.
Stream stream_of(std::uint64_t seed, std::uint64_t number) {
  Stream::State state;
  std::uint64_t x = seed ^ (number * 0xD1342543DE82EF95ull);
  for (auto& word : state) {  // splitmix64
    x += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    word = z ^ (z >> 31);
  }
  return Stream(state);
}

nb::list evaluate_all(const Bound& b, const std::vector<Task>& tasks, std::uint64_t seed, std::uint64_t first,
                      int threads) {
  std::vector<Move> moves;
  for (const auto& [kind, nodes, starts, first_steps, steps, tolerance, goal, from] : tasks) {
    require(starts >= 1 && first_steps >= 1 && steps >= 1 && tolerance >= 0.0 && !std::isnan(goal),
            "starts and steps of EM");
    require(from >= 0 && from <= 2, "where to start from");
    moves.push_back(move_of(b, kind, nodes));
  }
  std::vector<Evaluated> found(tasks.size());
  {
    const nb::gil_scoped_release release;
    Team team(std::min<int>(threads, static_cast<int>(tasks.size())));
    team(static_cast<Index>(tasks.size()), [&](Index i) {
      const auto& [kind, nodes, starts, first_steps, steps, tolerance, goal, from] = tasks[i];
      Stream rng = stream_of(seed, first + std::uint64_t(i));
      const Effort effort{starts, first_steps, steps, tolerance};
      found[i] = evaluate(b.beliefs, moves[i], effort, goal, static_cast<Start>(from), rng);
    });
  }
  nb::list out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Evaluated& own = found[i];
    if (const double goal = std::get<6>(tasks[i]); std::isfinite(goal) && !(own.log_likelihood > goal)) {
      out.append(nb::make_tuple(own.log_likelihood, nb::none(), nb::none(), nb::none(), nb::none()));
      continue;
    }
    for (Index& v : own.nodes) v = b.called(v);
    out.append(
        nb::make_tuple(own.log_likelihood, own.nodes, own.parent, own.states, to_numpy(std::move(own.parameters))));
  }
  return out;
}

nb::list relocate(const Bound& b, const std::vector<Index>& places,
                  const std::vector<std::tuple<Index, Index, std::optional<Vector>>>& branches, int passes, int near,
                  int threads) {
  require(!places.empty() && passes >= 2 && near >= 1, "at least one latent, one place and two passes");
  Indices at;
  for (Index v : places) at.push_back(b.latent(v));
  std::vector<char> known(b.net().n_nodes(), 0);
  for (Index v : at) {
    require(!known[v], "each place once");
    known[v] = 1;
  }
  std::size_t links = 0;
  for (Index v : at)
    for (Index u : b.net().neighbours[v]) links += known[u];
  require(links == 2 * (at.size() - 1), "places that hang together");
  std::vector<Branch> own;
  for (const auto& [top, latent, needed] : branches) {
    Branch branch{0, b.latent(latent), {}};
    branch.top = b.neighbour(top, branch.at);
    require(known[branch.at] && (known[branch.top] || !b.net().is_latent(branch.top)), "a branch at a place");
    require(!needed || needed->size() == places.size(), "what is needed at each place");
    if (needed) branch.needed = copy<double>(*needed);
    own.push_back(std::move(branch));
  }
  std::vector<Moved> moved;
  {
    const nb::gil_scoped_release release;
    moved = relocations(b.beliefs, at, own, passes, near, std::min<int>(threads, static_cast<int>(own.size())));
  }
  std::size_t most = 0;
  for (Index v : at) most = std::max<std::size_t>(most, b.net().states[v]);
  nb::list out;
  for (std::size_t i = 0; i < moved.size(); ++i)
    out.append(nb::make_tuple(
        moved[i].stays, to_numpy(std::move(moved[i].goes)),
        to_numpy(std::move(moved[i].tables), {places.size(), most, std::size_t(b.net().states[own[i].top])})));
  return out;
}

Out<double> by_row(const std::vector<double>& by_state, Index states, Index rows) {
  std::vector<double> out(by_state.size());
  for (Index s = 0; s < states; ++s)
    for (Index r = 0; r < rows; ++r) out[std::size_t(r) * states + s] = by_state[std::size_t(s) * rows + r];
  return to_numpy(std::move(out), {std::size_t(rows), std::size_t(states)});
}

std::vector<std::tuple<std::vector<Index>, Index, Index>> divide(const Bound& b, Index number, double n, double rate,
                                                                 double least, std::size_t most, std::size_t sizes) {
  const Index a = b.latent(number);
  require(std::isfinite(n) && n >= 0.0 && std::isfinite(rate) && rate >= 0.0 && !std::isnan(least),
          "a number of rows, what a parameter costs, and the least gain");
  std::vector<std::tuple<std::vector<Index>, Index, Index>> out;
  std::vector<Division> found;
  {
    const nb::gil_scoped_release release;
    found = divisions(b.net(), a, n, rate, least, most, sizes);
    for (Division& own : branches(b.net(), a, n, rate, least, most)) found.push_back(std::move(own));
  }
  for (Division& own : found) {
    for (Index& v : own.below) v = b.called(v);
    out.emplace_back(std::move(own.below), own.own, own.fresh);
  }
  return out;
}

}  // namespace

void bind_search(nb::module_& m) {
  m.attr("LOSS_LEFT") = kLossLeft;
  nb::class_<Bound>(m, "Beliefs")
      .def("__init__",
           [](Bound* self, Index n_manifest, IntVector states, const std::vector<Vector>& marginals,
              const std::vector<EdgeArrays>& edges, const std::vector<Index>& numbers, Codes codes, Vector weights,
              double width) {
             Network network = network_of(n_manifest, states, marginals, edges, numbers);
             check_codes(network, codes);
             check_weights(weights, codes.shape(0));
             require(width == 0.0 || (width >= 1e-4 && width <= 1.0), "a width that can be counted");
             const nb::gil_scoped_release release;
             new (self) Bound{codes, weights, numbers,
                              Beliefs(std::move(network), codes.data(), weights.data(), Index(codes.shape(0)), width)};
           })
      .def("log_likelihood", [](const Bound& b) { return to_numpy(b.beliefs.row_log_likelihood()); })
      .def("total",
           [](const Bound& b, Index v) {
             v = b.latent(v);
             return by_row(b.beliefs.total(v), b.net().states[v], b.beliefs.rows());
           })
      .def("posterior",
           [](const Bound& b, Index v) {
             v = b.latent(v);
             return by_row(b.beliefs.posterior(v), b.net().states[v], b.beliefs.rows());
           })
      .def("without",
           [](const Bound& b, Index z, Index a) {
             a = b.latent(a);
             z = b.neighbour(z, a);
             const auto left = b.beliefs.parted(z, a);
             nb::dict out;
             for (Index v = 0; v < b.net().n_nodes(); ++v)
               if (!(*left)[v].empty())
                 out[nb::int_(b.called(v))] = by_row((*left)[v], b.net().states[v], b.beliefs.rows());
             return out;
           })
      .def("evaluate", &evaluate_all)
      .def("relocations", &relocate)
      .def("dependence",
           [](const Bound& b, Index a, std::size_t first, std::size_t last) {
             a = b.latent(a);
             const std::size_t n = b.net().neighbours[a].size();
             require(first <= last && last <= n, "some of the neighbours");
             std::vector<double> out;
             {
               const nb::gil_scoped_release release;
               out = dependence(b.beliefs, a, first, last);
             }
             return to_numpy(std::move(out), {last - first, n});
           })
      .def("triple",
           [](const Bound& b, Index a, Index one, Index other) {
             a = b.latent(a);
             one = b.neighbour(one, a);
             other = b.neighbour(other, a);
             require(one != other, "two neighbours");
             std::vector<double> out;
             {
               const nb::gil_scoped_release release;
               out = triple_counts(b.beliefs, a, one, other);
             }
             return to_numpy(std::move(out), {std::size_t(b.net().states[a]), std::size_t(b.net().states[one]),
                                              std::size_t(b.net().states[other])});
           })
      .def("divisions", &divide);
}
