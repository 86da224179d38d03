"""Division of a latent: two latents take its place, each with some of its neighbours and with fewer states.

It undoes a union that went too far. A new node alone (NI) cannot, since the latent keeps all its states until a later
step. What a division costs is known beforehand, from the completed data: on each side the states that say nearly the
same about the neighbours there are merged, one pair after the other, so that no division need be fitted to be judged
(``engine/division.cpp``).
"""

from __future__ import annotations

from collections.abc import Iterator

from ._beliefs import Beliefs
from ._operators import Move


def divisions(
    beliefs: Beliefs, a: int, n: float, rate: float, least: float, most: int = 3, sizes: int = 1
) -> Iterator[Move]:
    """Ways to divide a latent that may gain at least ``least``, the most promising first.

    Either both latents get fewer states, or neighbours that do not tell some states apart hang on a new latent with
    fewer. ``n`` is the number of rows and ``rate`` what a parameter costs; ``most`` of each of the two are told, and no
    more than ``sizes`` of one way to part the neighbours.
    """
    for below, own, fresh in beliefs.core.divisions(a, n, rate, least, most, sizes):
        yield Move("DI", (a, *below, own, fresh))
