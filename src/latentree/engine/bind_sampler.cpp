// The sampler for Python: arrays in, arrays out.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "arrays.hpp"
#include "sampler.hpp"

namespace nb = nanobind;
using namespace latentree;

namespace {

using Vector = In<double, nb::ndim<1>>;
using Words = In<std::uint64_t, nb::ndim<1>>;
using Matrix = In<double, nb::ndim<2>>;
using Counts = In<std::int64_t, nb::ndim<2>>;

constexpr Count kMostCopies = Count(1) << 53;  // a random number tells no more of them apart
constexpr std::size_t kMostPatterns = std::numeric_limits<int>::max();

struct Recorded {
  std::vector<int> k;
  std::vector<double> weights, theta, log_likelihood;
  std::vector<Count> sizes, cells;
};

void record(const Sampler& s, const Chain& c, bool with_counts, Recorded& out) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const int t = s.patterns().n_cells();
  out.k.push_back(c.k);
  out.log_likelihood.push_back(s.log_likelihood(c));
  for (int j = 0; j < s.kmax(); ++j) {
    out.weights.push_back(j < c.k ? std::exp(c.log_weights[j]) : none);
    for (int a = 0; a < t; ++a) out.theta.push_back(j < c.k ? std::exp(c.log_theta[std::size_t(j) * t + a]) : none);
  }
  if (!with_counts) return;
  for (int j = 0; j < s.kmax(); ++j) {
    Count size = 0;
    std::vector<Count> cells(t, 0);
    if (j < c.k) s.count(c, j, &size, cells.data());
    out.sizes.push_back(size);
    out.cells.insert(out.cells.end(), cells.begin(), cells.end());
  }
}

Stream stream_of(const Words& words) {
  require(words.size() == 4 && std::any_of(words.data(), words.data() + 4, [](std::uint64_t x) { return x != 0; }),
          "four words of random state, not all zero");
  Stream::State state;
  std::copy_n(words.data(), 4, state.begin());
  return Stream(state);
}

Chain chain_of(const Sampler& s, int k, const Vector& log_weights, const Matrix& log_theta, const Counts& members,
               const Words& stream) {
  const std::size_t kmax = s.kmax(), n = s.patterns().size(), t = s.patterns().n_cells();
  require(k >= 1 && std::size_t(k) <= kmax, "from 1 to kmax classes");
  require(log_weights.size() == kmax, "one weight for each class");
  require(log_theta.shape(0) == kmax && log_theta.shape(1) == t, "one probability for each class and cell");
  require(members.shape(0) == kmax && members.shape(1) == n, "members of each class and pattern");
  Stream own = stream_of(stream);
  for (std::size_t p = 0; p < n; ++p) {
    Count sum = 0;
    for (int j = 0; j < k; ++j) {
      require(members(j, p) >= 0 && members(j, p) <= s.patterns().weights[p], "members from 0 to a pattern's copies");
      sum += members(j, p);
    }
    require(sum == s.patterns().weights[p], "every copy of a pattern is in one class");
  }
  return Chain{k, copy<double>(log_weights), copy<double>(log_theta), copy<Count>(members), own};
}

auto advance(const Sampler& s, int k, Vector log_weights, Matrix log_theta, Counts members, Words stream,
             const std::vector<int>& moves, int n_sweeps, int thin, bool with_counts) {
  Chain c = chain_of(s, k, log_weights, log_theta, members, stream);
  require(n_sweeps >= 0 && thin >= 1, "sweeps from 0, thinning from 1");
  for (int m : moves) require(m >= 0 && m <= int(Move::marginal), "no such move");
  Recorded out;
  {
    const nb::gil_scoped_release release;
    for (int sweep = 1; sweep <= n_sweeps; ++sweep) {
      for (int m : moves) s.make(c, static_cast<Move>(m));
      if (sweep % thin == 0) record(s, c, with_counts, out);
    }
  }
  const std::size_t kmax = s.kmax(), n = s.patterns().size(), t = s.patterns().n_cells(), d = out.k.size();
  const std::size_t counted = with_counts ? d : 0;
  const auto& words = c.stream.state();
  return std::make_tuple(c.k, to_numpy(std::move(c.log_weights)), to_numpy(std::move(c.log_theta), {kmax, t}),
                         to_numpy(std::move(c.members), {kmax, n}),
                         to_numpy(std::vector<std::uint64_t>(words.begin(), words.end())), to_numpy(std::move(out.k)),
                         to_numpy(std::move(out.weights), {d, kmax}), to_numpy(std::move(out.theta), {d, kmax, t}),
                         to_numpy(std::move(out.log_likelihood)), to_numpy(std::move(c.tried)),
                         to_numpy(std::move(c.accepted)), to_numpy(std::move(out.sizes), {counted, kmax}),
                         to_numpy(std::move(out.cells), {counted, kmax, t}));
}

}  // namespace

void bind_sampler(nb::module_& m) {
  nb::class_<Sampler>(m, "Sampler")
      .def("__init__",
           [](Sampler* self, In<std::int16_t, nb::ndim<2>> codes, In<std::int32_t, nb::ndim<1>> states,
              In<std::int64_t, nb::ndim<1>> weights, double delta1, double delta2, Vector log_prior, bool simplex,
              double scale, int tries, double informed, double small) {
             const std::size_t n = weights.size(), leaves = states.size();
             require(codes.shape(0) == n && codes.shape(1) == leaves,
                     "a row of codes for each weight, a column for each leaf");
             for (std::size_t i = 0; i < leaves; ++i) {
               require(states(i) >= 1, "leaves have states");
               for (std::size_t p = 0; p < n; ++p)
                 require(codes(p, i) >= -1 && codes(p, i) < states(i), "codes out of range");
             }
             Count total = 0;
             for (std::size_t p = 0; p < n; ++p) {
               require(weights(p) >= 1 && weights(p) <= kMostCopies - total, "patterns have copies, no more than 2^53");
               total += weights(p);
             }
             require(n <= kMostPatterns, "fewer patterns");
             require(delta1 > 0 && delta2 > 0 && scale > 0 && informed > 0 && small > 0, "priors and scales above 0");
             require(log_prior.size() >= 1 && tries >= 0, "at least one class");
             for (std::size_t i = 0; i < log_prior.size(); ++i)
               require(std::isfinite(log_prior(i)), "every k is possible");
             Settings settings{delta1, delta2, copy<double>(log_prior), simplex, scale, tries, informed, small};
             new (self) Sampler(Patterns(copy<int>(states), codes.data(), copy<Count>(weights)), std::move(settings));
           })
      .def("advance", &advance);
  // What bayes/stream.py is compared with.
  m.def("draw", [](Words words, int kind, double a, double b, int n) {
    Stream stream = stream_of(words);
    require(n >= 0 && kind >= 0 && kind <= 4, "draws of one of five kinds");
    require((kind != 2 && kind != 4) || (std::isfinite(a) && a > 0.0), "a shape above 0");
    require(kind != 3 || (a >= 0.0 && a <= double(kMostCopies) && b >= 0.0 && b <= 1.0), "a number and a probability");
    std::vector<double> out;
    for (int i = 0; i < n; ++i)
      out.push_back(kind == 0   ? stream.uniform()
                    : kind == 1 ? stream.normal()
                    : kind == 2 ? stream.log_gamma_variate(a)
                    : kind == 3 ? double(stream.binomial(Count(a), b))
                                : log_gamma(a));
    return to_numpy(std::move(out));
  });
}
