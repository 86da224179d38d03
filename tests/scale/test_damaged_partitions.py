"""A folder of partitions that was damaged gives the right likelihood or an error that names the file, nothing else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import latentree as lt
from latentree.errors import FileFormatError
from latentree.scale import Partitions


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder that is as it should be, a model, and the log-likelihood of the rows."""
    table = lt.datasets.load("voting")
    folder = tmp_path_factory.mktemp("partitions") / "parts"
    parts = Partitions.write([(table.codes, table.weights)], folder, table.variables, n_tables=4)
    model = lt.Model.random(lt.Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(0))
    return folder, model, parts.compiled(model).log_likelihood(model.parameters)


CODES, WEIGHTS, OTHER = "part-00001-codes.npy", "part-00001-weights.npy", "part-00002-codes.npy"


def truncate(name, keep):
    def damage(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * keep)])

    return damage


def flip(name, at):
    """Flip a bit; places below 0 are counted from the end."""

    def damage(folder):
        content = bytearray((folder / name).read_bytes())
        content[at] ^= 1
        (folder / name).write_bytes(content)

    return damage


def swap(a, b):
    def damage(folder):
        first, second = (folder / a).read_bytes(), (folder / b).read_bytes()
        (folder / a).write_bytes(second)
        (folder / b).write_bytes(first)

    return damage


def manifest(change):
    """Change what the manifest says."""

    def damage(folder):
        told = json.loads((folder / "table.json").read_text())
        change(told)
        (folder / "table.json").write_text(json.dumps(told))

    return damage


def signed(change):
    """Change the manifest, and sign it again: then what it says must still be checked."""
    from latentree.scale._folder import _checksum_of

    def resign(told):
        change(told)
        told.pop("checksum")
        told["checksum"] = _checksum_of(told)

    return manifest(resign)


def resaved(name, change):
    """Write another array, with the checksum that it has."""
    from latentree.scale._folder import _checksum

    def damage(folder):
        np.save(folder / name, change(np.load(folder / name)))
        column = 0 if "codes" in name else 1
        signed(lambda told: told["checksums"][int(name[5:10])].__setitem__(column, _checksum(folder / name)))(folder)

    return damage


def to_folder(name):
    def damage(folder):
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def with_entry(value, at=(0, 0)):
    def change(array):
        array[at if array.ndim == 2 else at[0]] = value
        return array

    return change


DAMAGE = {
    "codes cut in half": truncate(CODES, 0.5),
    "codes cut by a little": truncate(CODES, 0.99),
    "codes empty": truncate(CODES, 0),
    "codes cut within the header": truncate(CODES, 0.01),
    "weights cut in half": truncate(WEIGHTS, 0.5),
    "weights empty": truncate(WEIGHTS, 0),
    "manifest cut in half": truncate("table.json", 0.5),
    "manifest empty": truncate("table.json", 0),
    "a bit of the codes": flip(CODES, -1),
    "a bit of the first codes": flip(CODES, 129),
    "a bit of the codes' header": flip(CODES, 20),
    "a bit of the codes' magic": flip(CODES, 0),
    "a bit of the weights": flip(WEIGHTS, -2),
    "the sign of a weight": flip(WEIGHTS, -1),
    "a bit of the weights' header": flip(WEIGHTS, 40),
    "a bit of the manifest": flip("table.json", 3),
    "codes of two tables swapped": swap(CODES, OTHER),
    "weights of two tables swapped": swap(WEIGHTS, "part-00002-weights.npy"),
    "codes and weights swapped": swap(CODES, WEIGHTS),
    "a table copied over another": lambda folder: shutil.copy(folder / OTHER, folder / CODES),
    "codes missing": lambda folder: (folder / CODES).unlink(),
    "weights missing": lambda folder: (folder / WEIGHTS).unlink(),
    "manifest missing": lambda folder: (folder / "table.json").unlink(),
    "codes are a folder": to_folder(CODES),
    "manifest is a folder": to_folder("table.json"),
    "manifest is not UTF-8": lambda folder: (folder / "table.json").write_bytes(b'{"format": "\xff"}'),
    "manifest is nested too deeply": lambda folder: (folder / "table.json").write_text("[" * 100_000),
    "manifest is a list": lambda folder: (folder / "table.json").write_text("[]"),
    "a size changed": manifest(lambda told: told["sizes"].__setitem__(1, told["sizes"][1] + 1)),
    "a table less": manifest(lambda told: (told["sizes"].pop(), told["checksums"].pop())),
    "another weight": manifest(lambda told: told.update(weight=told["weight"] * 2)),
    "another n": manifest(lambda told: told.update(n=1.0)),
    "states in another order": manifest(lambda told: told["variables"][0]["states"].reverse()),
    "variables in another order": manifest(lambda told: told["variables"].reverse()),
    "a variable less": manifest(lambda told: told["variables"].pop()),
    "no checksums": manifest(lambda told: told.pop("checksums")),
    "no checksum": manifest(lambda told: told.pop("checksum")),
    "another version": manifest(lambda told: told.update(version=1)),
    "signed: n is NaN": signed(lambda told: told.update(n=float("nan"))),
    "signed: n is text": signed(lambda told: told.update(n="many")),
    "signed: weight below 0": signed(lambda told: told.update(weight=-1.0)),
    "signed: no tables": signed(lambda told: told.update(sizes=[], checksums=[])),
    "signed: sizes are text": signed(lambda told: told.update(sizes=["a"] * 4)),
    "signed: more sizes than tables": signed(lambda told: told["sizes"].append(3)),
    "signed: variables are numbers": signed(lambda told: told.update(variables=[1, 2])),
    "signed: no variables": signed(lambda told: told.update(variables=[])),
    "signed: a size changed": signed(lambda told: told["sizes"].__setitem__(1, 1)),
    "resaved: codes of another type": resaved(CODES, lambda array: array.astype(np.int64)),
    "resaved: codes with another shape": resaved(CODES, lambda array: array[:, :-1]),
    "resaved: a code that is no state": resaved(CODES, with_entry(7)),
    "resaved: a code below -1": resaved(CODES, with_entry(-2)),
    "resaved: a weight of NaN": resaved(WEIGHTS, with_entry(np.nan)),
    "resaved: a weight of 0": resaved(WEIGHTS, with_entry(0.0)),
    "resaved: weights of text": resaved(WEIGHTS, lambda array: array.astype("U5")),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_an_error_that_names_the_file(name, sound, tmp_path):
    folder, model, _ = sound
    copy = tmp_path / "parts"
    shutil.copytree(folder, copy)
    DAMAGE[name](copy)
    with pytest.raises(FileFormatError) as error:
        Partitions.open(copy).compiled(model).log_likelihood(model.parameters)
    assert str(copy) in str(error.value)


@pytest.mark.parametrize("file", sorted(["table.json", CODES, WEIGHTS]))
def test_no_flipped_byte_changes_a_likelihood(file, sound, tmp_path):
    """Any byte of any file: the likelihood is what it was, or there is an error."""
    folder, model, expected = sound
    copy = tmp_path / "parts"
    shutil.copytree(folder, copy)
    content = (copy / file).read_bytes()
    for at in np.random.default_rng(0).integers(len(content), size=60).tolist():
        changed = bytearray(content)
        changed[at] ^= 1 << (at % 8)
        (copy / file).write_bytes(changed)
        try:
            found = Partitions.open(copy).compiled(model).log_likelihood(model.parameters)
        except FileFormatError:
            continue
        assert found == expected, at


def test_files_that_are_not_of_the_partitions_do_no_harm(sound, tmp_path):
    folder, model, expected = sound
    copy = tmp_path / "parts"
    shutil.copytree(folder, copy)
    shutil.copy(copy / CODES, copy / "part-00009-codes.npy")
    (copy / "notes.txt").write_text("mine")
    os.utime(copy / CODES, (0, 0))
    assert Partitions.open(Path(copy)).compiled(model).log_likelihood(model.parameters) == expected
