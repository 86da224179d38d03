"""Dimensions against published figures and against the rank of the explicit Jacobian; identifiability in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import oracle
import pytest
import strategies as own
from hypothesis import given, settings, strategies as st
from studies import merging

from latentree import dimension
from latentree._model import Model, normalised, random_parameters
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.dimension import (
    _effective as effective,
    _modular as modular,
    effective_dimension,
    identifiability,
    standard_dimension,
)
from latentree.dimension._effective import class_dimension, pair_dimension
from latentree.dimension._local import LocalRanks
from latentree.errors import ModelError, ParameterError

PRIME = 2**31 - 1


# ---- the truth by enumeration: a row for each pattern, a column for each parameter, exact modulo a prime ------


def explicit_jacobian(tree, parameters, p=None):
    """dP(pattern) / dparameter, by the tables' linearity; exact modulo p, or in floating point."""

    def probabilities(tables):
        joint = np.ones(tree.cardinality, dtype=np.int64 if p else float)
        for v, table in enumerate(tables):
            shape = [1] * tree.n_nodes
            shape[v] = tree.cardinality[v]
            if v:
                shape[tree.parent[v]] = tree.cardinality[tree.parent[v]]
            joint = joint * table.reshape(shape)
            joint = joint % p if p else joint
        return joint.sum(axis=tuple(map(int, tree.latent))).ravel()

    tables = [
        parameters[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], tree.cardinality[v])
        for v in range(tree.n_nodes)
    ]
    columns = []
    for v in range(tree.n_nodes):
        for row in range(tree.rows[v]):
            for state in range(1, tree.cardinality[v]):
                moved = np.zeros_like(tables[v])
                moved[row, [0, state]] = -1, 1
                column = probabilities([*tables[:v], moved, *tables[v + 1 :]])
                columns.append(column % p if p else column)
    return np.array(columns).T if columns else np.zeros((1, 0), dtype=int)


def plain_rank(matrix, p):
    a, rank = matrix.copy() % p, 0
    for column in range(a.shape[1]):
        rows = np.flatnonzero(a[rank:, column]) + rank
        if len(rows) == 0:
            continue
        a[[rank, rows[0]]] = a[[rows[0], rank]]
        factors = a[rank + 1 :, column] * pow(int(a[rank, column]), -1, p) % p
        a[rank + 1 :] = (a[rank + 1 :] - factors[:, None] * a[rank] % p) % p
        rank += 1
        if rank == len(a):
            break
    return rank


def generic_rank(tree, seed=0):
    """Rank of the explicit Jacobian at a random point modulo a prime."""
    rng = np.random.default_rng(seed)
    tables = []
    for rows, k in zip(tree.rows, tree.cardinality, strict=True):
        table = rng.integers(0, PRIME, (rows, k))
        table[:, 0] = (1 - table[:, 1:].sum(axis=1)) % PRIME
        tables.append(table.ravel())
    return plain_rank(explicit_jacobian(tree, np.concatenate(tables), PRIME), PRIME)


@settings(max_examples=300)
@given(own.trees(max_nodes=7, max_states=3))
def test_effective_dimension_is_the_rank_of_the_explicit_jacobian(tree):
    assert effective_dimension(tree) == generic_rank(tree)


@settings(max_examples=150)
@given(own.trees(max_nodes=8, max_states=5, min_states=2, min_nodes=4, observed_inner=False, latent_leaves=False))
def test_the_same_with_more_states_and_manifest_leaves_only(tree):
    if np.prod(tree.cardinality.astype(float)) * tree.n_parameters > 3e6:
        return
    assert effective_dimension(tree) == generic_rank(tree)


@settings(max_examples=100)
@given(st.integers(2, 6), st.lists(st.integers(2, 4), min_size=2, max_size=5))
def test_latent_class_models_regular_or_not(n_states, leaves):
    tree = Tree.star(n_states, leaves)
    assert effective_dimension(tree) == generic_rank(tree)
    assert effective_dimension(tree) <= min(standard_dimension(tree), np.prod(leaves) - 1)


def test_rooting_and_order_change_nothing():
    tree = zhang_kocka_figure_3()
    for v in range(tree.n_nodes):
        assert effective_dimension(tree.rerooted(v)[0]) == 61


# ---- published figures --------------------------------------------------------------------------------------


def zhang_kocka_figure_1(with_x1):
    leaves = [f"Y{i}" for i in range(1, 7)]
    states = dict.fromkeys([*leaves, "X2", "X3"], 3)
    edges = [("X2", y) for y in leaves[:3]] + [("X3", y) for y in leaves[3:]]
    if with_x1:
        return Tree.from_edges([("X1", "X2"), ("X1", "X3"), *edges], {"X1": 2, **states}, leaves)
    return Tree.from_edges([("X2", "X3"), *edges], states, leaves)


def zhang_kocka_figure_3():
    states = {"X1": 6, "X2": 3, "X3": 3, "X4": 5, "X5": 5, "Y1": 3, "Y2": 2, "Y3": 3, "Y4": 2, "Y5": 6}
    edges = "X1 X2, X1 Y3, X1 X3, X2 X4, X3 X5, X4 Y1, X4 Y2, X5 Y4, X5 Y5"
    return Tree.from_edges([tuple(e.split()) for e in edges.split(", ")], states, [f"Y{i}" for i in range(1, 6)])


def test_zhang_kocka_figure_1():
    m1, m2 = zhang_kocka_figure_1(True), zhang_kocka_figure_1(False)
    assert (standard_dimension(m1), effective_dimension(m1)) == (45, 43)
    assert (standard_dimension(m2), effective_dimension(m2)) == (44, 44)
    irregular = m1.with_cardinality("X1", 3)  # [ZhangKocka2004] 3.2: represents just what M2 does
    assert effective_dimension(irregular) == 44


def test_zhang_kocka_figure_3():
    tree = zhang_kocka_figure_3()
    assert (standard_dimension(tree), effective_dimension(tree)) == (110, 61)
    around = {
        tree.names[z]: class_dimension(
            int(tree.cardinality[z]), tuple(sorted(int(tree.cardinality[u]) for u in tree.neighbours(z)))
        )
        for z in tree.latent
    }
    # The source gives 34 for X4 and 17 for X5, which is the wrong way round; its sum is right.
    assert around == {"X1": 26, "X2": 23, "X3": 23, "X4": 17, "X5": 34}


@pytest.mark.parametrize("n", [3, 4, 5, 8, 20, 60])
def test_whiley_theorem_3_4(n):
    """Two classes and n > 2 binary leaves: 2n + 1."""
    assert effective_dimension(Tree.star(2, [2] * n)) == 2 * n + 1


def test_whiley_conjecture_3_8_is_false():
    tree = Tree.star(3, [2, 2, 2, 2])
    assert 2**4 >= 3 * (4 + 1)
    assert (standard_dimension(tree), effective_dimension(tree)) == (14, 13)


@pytest.mark.parametrize(
    ("n_states", "n_leaves", "identifiable"),
    [
        (3, 4, False),
        *((k, 5, True) for k in (3, 4, 5)),
        *((k, 6, True) for k in range(3, 10)),
        *((3, 3, False), (4, 4, False), (6, 5, False), (10, 6, False), (2, 3, True)),
    ],
)
def test_karciauskas_table_5_1(n_states, n_leaves, identifiable):
    tree = Tree.star(n_states, [2] * n_leaves)
    assert (effective_dimension(tree) == standard_dimension(tree)) == identifiable


@pytest.mark.parametrize("n_leaves", range(2, 8))
def test_binary_leaves_have_the_expected_dimension_but_for_one(n_leaves):
    """Catalisano, Geramita & Gimigliano (arXiv:0809.1701): only 3 classes on 4 leaves fall short."""
    for k in range(1, 2 ** (n_leaves - 1) + 1):
        expected = min(k * (n_leaves + 1), 2**n_leaves) - 1
        assert effective_dimension(Tree.star(k, [2] * n_leaves)) == expected - ((k, n_leaves) == (3, 4))


def test_two_manifest_variables():
    """Matrices of rank k (Settimi & Smith 1998): k(r1 + r2 - k) - 1."""
    for k, r1, r2 in [(2, 3, 3), (2, 3, 7), (4, 5, 9), (1, 4, 4)]:
        assert effective_dimension(Tree.star(k, [r1, r2])) == k * (r1 + r2 - k) - 1


def test_strassen():
    """4 classes on three ternary leaves miss one dimension of the 26 there are (Strassen 1983)."""
    assert effective_dimension(Tree.star(4, [3, 3, 3])) == 25
    assert effective_dimension(Tree.star(5, [3, 3, 3])) == 26


# ---- edges of the definition ----------------------------------------------------------------------------------


def test_trees_of_one_node_and_independence():
    assert effective_dimension(Tree([-1], [4], [0])) == 3
    assert effective_dimension(Tree([-1], [4], [-1])) == 0
    assert effective_dimension(Tree.star(1, [2, 3, 4])) == 1 + 2 + 3
    assert effective_dimension(Tree.star(5, [1, 1, 1])) == 0
    forest = Tree.from_edges(
        [("o", "a"), ("o", "b"), *((z, f"{z}{i}") for z in "ab" for i in range(3))],
        {"o": 1, "a": 2, "b": 2} | {f"{z}{i}": 2 for z in "ab" for i in range(3)},
        [f"{z}{i}" for z in "ab" for i in range(3)],
    )
    assert effective_dimension(forest) == 14


def test_observed_root_and_chain():
    naive = Tree([-1, 0, 0, 2, 2, 2], [3, 2, 2, 2, 2, 2], [0, 1, -1, 2, 3, 4])
    assert effective_dimension(naive) == generic_rank(naive) == standard_dimension(naive)
    markov = Tree([-1, 0, 1, 2], [2, 3, 4, 2], [0, 1, 2, 3])
    assert effective_dimension(markov) == standard_dimension(markov)


def test_many_leaves_and_long_chains():
    assert effective_dimension(Tree.star(10, [2] * 100)) == 1009
    assert effective_dimension(Tree.star(200, [2] * 300)) == 200 * 301 - 1
    n = 1000  # a hidden Markov model
    parent = [-1, *range(n - 1), *range(n)]
    chain = Tree(parent, [2] * (2 * n), [-1] * n + list(range(n)))
    # Each end of the chain has one neighbour too few to be seen: regularisation joins it away.
    assert effective_dimension(chain) == 1 + 2 * (n - 1 - 2) + 2 * n


def test_too_large_says_so():
    with pytest.raises(ModelError, match="a latent node of 90 states with neighbours of 89, 89, 89 states needs"):
        effective_dimension(Tree.star(90, [89, 89, 89]))


# ---- the parts ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(2, 7), st.lists(st.integers(2, 5), min_size=3, max_size=6))
def test_lemmas_agree_with_elimination(n_states, leaves):
    if n_states > np.prod(leaves) / max(leaves):
        return
    dimension_ = class_dimension(n_states, tuple(sorted(leaves)))
    assert dimension_ == effective._generic_rank(n_states, leaves) - 1


def test_the_closed_form_is_a_combination_of_the_jacobians_rows():
    """Entry by entry, against the sum over all patterns."""
    leaves, k, p = [2, 3, 2], 2, 101
    rng = np.random.default_rng(3)
    matrix = effective._combined_rows(k, leaves, 5, p, rng)
    rng = np.random.default_rng(3)
    a = [np.c_[np.ones((k, 1), dtype=int), rng.integers(0, p, (k, r - 1))] for r in leaves]
    b = [np.c_[np.ones((5, 1), dtype=int), rng.integers(0, p, (5, r - 1))] for r in leaves]
    columns = [np.einsum("a,b,c", a[0][z], a[1][z], a[2][z]) for z in range(k)]
    for i in reversed(range(3)):
        for z in range(k):
            for x in range(1, leaves[i]):
                parts = [np.eye(leaves[i], dtype=int)[x] if j == i else a[j][z] for j in range(3)]
                columns.append(np.einsum("a,b,c", *parts))
    truth = [[np.einsum("abc,a,b,c", c, b[0][s], b[1][s], b[2][s]) % p for c in columns] for s in range(5)]
    np.testing.assert_array_equal(matrix, truth)


@settings(max_examples=60)
@given(
    st.integers(1, 150), st.integers(1, 150), st.integers(1, 150), st.integers(0, 10**6), st.sampled_from([2, 5, PRIME])
)
def test_blocked_elimination(m, n, r, seed, p):
    rng = np.random.default_rng(seed)
    a = modular.product(rng.integers(0, p, (m, r)), rng.integers(0, p, (r, n)), p)
    a[:, rng.random(n) < 0.2] = 0
    assert modular.rank(a, p) == plain_rank(a, p)


def test_products_of_large_entries_are_exact():
    p = PRIME
    a, b = np.full((3, 200), p - 1), np.full((200, 4), p - 2)
    assert (modular.product(a, b, p) == 200 * (p - 1) * (p - 2) % p).all()


def test_a_gram_matrix_modulo_a_prime_can_lose_rank():
    """Why rows are combined with other vectors than the columns themselves: (1, 2) is orthogonal to itself modulo 5."""
    column = np.array([[1], [2]])
    assert modular.rank(column, 5) == 1
    assert modular.rank(column.T @ column % 5, 5) == 0


def test_draws_keep_the_promise():
    for rank, n_leaves in [(10, 4), (1010, 100), (5000, 20)]:
        draws = effective._draws(rank, n_leaves)
        assert 1 <= draws <= 6


def test_answers_are_remembered_and_repeatable():
    class_dimension.cache_clear()
    first = [class_dimension(k, (2, 2, 2, 3)) for k in range(2, 8)]
    assert class_dimension.cache_info().misses == 6
    assert [class_dimension(k, (2, 2, 2, 3)) for k in range(2, 8)] == first
    assert class_dimension.cache_info().hits == 6
    class_dimension.cache_clear()
    assert [class_dimension(k, (2, 2, 2, 3)) for k in range(2, 8)] == first


# ---- identifiability --------------------------------------------------------------------------------------------


def model_of(tree, parameters):
    return Model(tree, numbered(int(tree.cardinality[v]) for v in tree.manifest), parameters)


def rank_here(tree, parameters):
    """Rank of the explicit Jacobian in floating point, columns scaled alike."""
    jacobian = explicit_jacobian(tree, parameters)
    length = np.linalg.norm(jacobian, axis=0)
    jacobian = jacobian[:, length > 1e-9] / length[length > 1e-9]
    return int((np.linalg.svd(jacobian, compute_uv=False) > 1e-6).sum()) if jacobian.size else 0


@st.composite
def special_points(draw):
    """A tree and random parameters, some rows of some tables being the same."""
    tree = draw(own.trees(max_nodes=7, max_states=3))
    parameters = random_parameters(tree, np.random.default_rng(draw(st.integers(0, 10**6))))
    for v in range(1, tree.n_nodes):
        table = parameters[tree.offsets[v] : tree.offsets[v + 1]].reshape(tree.rows[v], -1)
        if len(table) > 1 and draw(st.booleans()):
            table[1] = table[0]
    return tree, parameters


@settings(max_examples=200)
@given(special_points())
def test_rank_at_own_parameters_is_that_of_the_explicit_jacobian(point):
    tree, parameters = point
    ranks = LocalRanks(model_of(tree, parameters))
    assert ranks.rank == rank_here(tree, parameters)
    assert ranks.rank <= effective_dimension(tree)


@settings(max_examples=60)
@given(st.data())
def test_rank_of_latent_class_models_with_zeros_and_empty_states(data):
    tree = Tree.star(data.draw(st.integers(2, 4)), data.draw(st.lists(st.integers(2, 3), min_size=3, max_size=5)))
    parameters = data.draw(own.parameters(tree, zeros=True))
    ranks = LocalRanks(model_of(tree, parameters))
    assert ranks.rank == rank_here(tree, parameters)
    assert ranks.nodes[0].empty == tuple(np.flatnonzero(parameters[: tree.cardinality[0]] == 0))


def random_model(tree, seed=0):
    return model_of(tree, random_parameters(tree, np.random.default_rng(seed)))


def test_a_model_in_order():
    report = identifiability(random_model(Tree.star(3, [2] * 6)))
    assert report.structural
    assert report.here
    assert report.standard == report.effective == report.rank == 20
    assert str(report) == (
        "The structure is locally identifiable: almost everywhere, no small change of its 20 parameters leaves the "
        "distribution as it is.\nThe same holds at the model's own parameters."
    )


def test_a_structure_with_too_many_parameters():
    report = identifiability(random_model(Tree.star(3, [2] * 4)))
    assert not report.structural
    assert (report.standard, report.effective, report.rank) == (14, 13, 13)
    assert "14 parameters, but its distributions have 13 dimensions" in str(report)
    assert "no worse than that" in str(report)
    assert report.latents[0].loose == (0, 1, 2)


def test_coinciding_empty_and_boundary_states():
    tables = {"z": [0.5, 0.2, 0.3, 0.0]}
    for i in range(1, 8):
        tables[f"x{i}"] = [[0.9, 0.1], [0.3, 0.7], [0.305, 0.695], [0.6, 0.4]]
    tables["x2"][0] = [1.0, 0.0]
    model = Model.from_tables(Tree.star(4, [2] * 7), numbered([2] * 7), tables)
    report = identifiability(model)
    (z,) = report.latents
    assert z.empty == (3,)
    assert z.coinciding == ((1, 2),)
    assert set(z.loose) >= {1, 2, 3}
    assert 0 not in z.loose
    assert report.boundary == (("z", 0, 3), ("x2", 0, 0), ("x2", 0, 1))
    text = str(report)
    assert "z: state 3 is empty" in text
    assert "z: states 1 and 2 coincide" in text
    assert "3 of 60 probabilities are 0 or 1, in the tables of z, x2" in text
    assert identifiability(model, coincide=1e-3).latents[0].coinciding == ()


def test_latent_trees_node_by_node():
    tree = zhang_kocka_figure_1(True)
    report = identifiability(random_model(tree))
    assert (report.standard, report.effective, report.rank) == (45, 43, 43)
    assert [z.name for z in report.latents] == ["X1", "X2", "X3"]
    assert [(z.standard, z.effective) for z in report.latents] == [(9, 7), (23, 23), (23, 23)]
    assert "X1: 9 parameters around it have 7 dimensions." in str(report)


def test_states_that_only_a_far_branch_could_tell_apart():
    """Two states of an inner latent differ only in a neighbour's states that coincide themselves."""
    tree = zhang_kocka_figure_1(False)
    model = random_model(tree)
    x3 = model.tree.node("X3")
    parameters = model.parameters.copy()
    for y in model.tree.children[x3]:
        table = parameters[tree.offsets[y] : tree.offsets[y + 1]].reshape(3, 3)
        table[1] = table[0]
    report = identifiability(model.with_parameters(parameters))
    assert report.rank == rank_here(tree, parameters) < 44
    assert {z.name: z.coinciding for z in report.latents} == {"X2": (), "X3": ()}  # X2 still tells X3's states apart
    for v in model.tree.latent:
        moved = model.with_parameters(parameters).rerooted(int(v))
        assert identifiability(moved).rank == report.rank


def test_manifest_states_that_never_occur():
    tree = Tree([-1, 0, 0, 0, 0, 4, 4, 4], [2, 2, 2, 2, 3, 2, 2, 2], [-1, 0, 1, 2, 3, 4, 5, 6])
    model = random_model(tree)
    parameters = model.parameters.copy()
    table = parameters[tree.offsets[4] : tree.offsets[5]].reshape(2, 3)
    table[:, 2] = 0.0
    table[:] /= table.sum(axis=1, keepdims=True)
    report = identifiability(model.with_parameters(parameters))
    # Each of three children has one parameter below the state, which has one given each of two classes.
    assert report.standard - report.rank == 3 + 2
    assert any(node == "x4" for node, _, _ in report.boundary)


def test_all_words_for_a_tree_of_one_node():
    assert identifiability(random_model(Tree([-1], [3], [0]))).here
    lone = identifiability(random_model(Tree([-1], [3], [-1])))
    assert (lone.standard, lone.effective, lone.rank) == (2, 0, 0)
    assert lone.latents[0].coinciding == ((0, 1, 2),)


def test_bad_tolerance():
    with pytest.raises(ParameterError, match="The 'coincide' parameter of identifiability must be"):
        identifiability(random_model(Tree.star(2, [2, 2, 2])), coincide=1.5)


def test_public_names():
    assert set(dimension.__all__) >= {"effective_dimension", "standard_dimension", "identifiability"}


def test_oracle_agrees_on_probabilities():
    """The explicit Jacobian's columns are derivatives of the oracle's probabilities."""
    tree = zhang_kocka_figure_1(True)
    small = Tree([-1, 0, 0, 2, 2], [2, 2, 2, 2, 3], [-1, 0, -1, 1, 2])
    assert tree.n_parameters == 45
    rng = np.random.default_rng(0)
    p = random_parameters(small, rng)
    step = 1e-6
    moved = p.copy()
    moved[:2] += [-step, step]
    change = (oracle.joint(small, moved) - oracle.joint(small, p)).sum(axis=(0, 2)).ravel() / step
    np.testing.assert_allclose(explicit_jacobian(small, p)[:, 0], change, atol=1e-8)


# ---- merging states ([Karciauskas2005] 5.3) ----------


def test_merging_three_states_is_merging_twice():
    model = random_model(Tree.star(4, [2, 3, 2]))
    at_once = merging.merged(model, ((0, 1, 3), (2,)))
    pair = merging.merged(model, ((0, 1), (3,), (2,)))
    np.testing.assert_allclose(merging.merged(pair, ((0, 1), (2,))).parameters, at_once.parameters)
    np.testing.assert_allclose(at_once.marginals()[1], model.marginals()[1])


@pytest.mark.parametrize(("n", "k", "count"), [(3, 2, 3), (4, 2, 7), (5, 3, 25), (4, 4, 1), (2, 3, 0)])
def test_partitions(n, k, count):
    found = list(merging._partitions(n, k))
    assert len(found) == len({frozenset(map(frozenset, groups)) for groups in found}) == count
    assert all(sorted(sum(groups, ())) == list(range(n)) for groups in found)


def test_slopes_are_derivatives():
    model = random_model(Tree.star(3, [2, 3]))
    patterns = np.array([[i, j] for i in range(2) for j in range(3)])
    slopes = merging._slopes(model, patterns)
    for i in range(model.tree.size):
        step = np.zeros(model.tree.size)
        step[i] = 1e-6
        moved = model.with_parameters(normalised(model.tree, model.parameters * np.exp(step)))
        change = (merging._joint(moved, patterns) - merging._joint(model, patterns)).sum(axis=0) / 1e-6
        np.testing.assert_allclose(slopes[:, i], change, atol=1e-6)


def test_when_merging_recovers_the_smaller_model():
    """[Karciauskas2005] table 5.1 in small, and its two examples; 3:5x2 refutes conjecture 5.2."""
    chosen = [s for s in merging.STRUCTURES if s.n_states == 2 or (s.n_states == 3 and len(s.leaves) == 5)]
    outcomes = merging.run(chosen, models=6, starts=20)
    by_name = {(o.structure.name(), o.structure.extra): o for o in outcomes}
    for name in ("2:4x2", "2:5x2", "2:6x2"):
        assert by_name[name, 1].recovered == by_name[name, 1].perfect > 0
    assert by_name["2:3x2", 1].recovered == 0 < by_name["2:3x2", 1].perfect
    assert len(by_name["2:3,3,2", 1].misses) > 0
    assert by_name["2:5x2", 2].at_once > 0 == len(by_name["2:5x2", 2].misses)
    assert len(by_name["3:5x2", 1].misses) > 0
    small, large = by_name["3:5x2", 1].example
    assert identifiability(small).here
    np.testing.assert_allclose(
        oracle.pattern_probabilities(small), oracle.pattern_probabilities(large), atol=1e-12, rtol=0
    )


# ---- two independent latents above every leaf -----------------------------------------------------------------------


def pair_jacobian(pair, leaves, parameters):
    """Derivatives of P(pattern) by the free parameters of two independent latents, by complex steps."""
    k1, k2 = pair

    def patterns(free):
        at = 0

        def row(width):
            nonlocal at
            own = free[at : at + width - 1]
            at += width - 1
            return np.append(own, 1 - own.sum())

        weights = np.multiply.outer(row(k1), row(k2)).ravel()
        out = weights[:, None]
        for r in leaves:
            table = np.array([row(r) for _ in range(k1 * k2)])
            out = (out[:, :, None] * table[:, None, :]).reshape(k1 * k2, -1)
        return out.sum(axis=0)

    step = 1e-30j * np.eye(len(parameters))
    return np.array([patterns(parameters + own).imag / 1e-30 for own in step]).T


def pair_point(pair, leaves, rng):
    """Free parameters, and the model whose root has the pairs as states."""
    rows = [rng.dirichlet(np.full(k, 5.0)) for k in pair]
    tables = [[rng.dirichlet(np.full(r, 2.0)) for _ in range(pair[0] * pair[1])] for r in leaves]
    free = np.concatenate([row[:-1] for row in [*rows, *(row for table in tables for row in table)]])
    root = np.multiply.outer(*rows).ravel()
    parameters = np.concatenate([root, *(np.concatenate(table) for table in tables)])
    return free, Model(Tree.star(len(root), leaves), numbered(leaves), parameters)


PAIRS = [
    ((2, 2), (2, 2, 2)),
    ((2, 2), (2, 2, 2, 2)),
    ((2, 2), (2,) * 5),
    ((2, 3), (2,) * 5),
    ((2, 3), (2, 2, 3, 3)),
    ((1, 3), (2, 2, 2, 2)),
    ((2, 2), (3, 5)),
    ((2, 1), (4, 2)),
]


@pytest.mark.parametrize(("pair", "leaves"), PAIRS)
def test_dimension_of_two_latents_is_the_rank_of_their_jacobian(pair, leaves):
    free, model = pair_point(pair, leaves, np.random.default_rng(0))
    rank = int(np.linalg.matrix_rank(pair_jacobian(pair, leaves, free)))
    assert pair_dimension(pair, tuple(sorted(leaves))) == rank
    fit = SimpleNamespace(model=model, n_states=pair)
    found = identifiability(fit)
    assert (found.standard, found.effective, found.rank) == (len(free), rank, rank)


def test_two_latents_with_one_state_on_one_side_are_a_latent_class_model():
    for k, leaves in ((2, (2, 2, 2)), (3, (2, 2, 2, 2)), (4, (3, 3, 3))):
        assert pair_dimension((1, k), leaves) == pair_dimension((k, 1), leaves) == class_dimension(k, leaves)


def test_two_latents_that_matter_less_have_less_rank():
    """Where the second latent changes nothing, its weights and the differences it makes are not fixed."""
    pair, leaves = (2, 2), (2,) * 6
    free, model = pair_point(pair, leaves, np.random.default_rng(1))
    tables = [model.table(v).reshape(2, 2, 2) for v in range(1, 7)]
    same = [np.repeat(t[:, :1], 2, axis=1).reshape(4, 2) for t in tables]
    root = model.table(0)[0]
    one = model.with_parameters(np.concatenate([root, *(t.ravel() for t in same)]))
    found = identifiability(SimpleNamespace(model=one, n_states=pair))
    point = np.concatenate([free[:2], *(t[:, 0] for t in same)])
    assert found.rank == np.linalg.matrix_rank(pair_jacobian(pair, leaves, point)) < found.standard
    assert found.latents[0].coinciding == ((0, 1), (2, 3))
    never = np.concatenate([np.multiply.outer([1.0, 0.0], root.reshape(2, 2).sum(axis=0)).ravel(), one.parameters[4:]])
    assert identifiability(SimpleNamespace(model=model.with_parameters(never), n_states=pair)).rank < found.rank
