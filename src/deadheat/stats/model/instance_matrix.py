"""Symmetric matrices over pairs of instances, without a number for every pair.

Two instances share an entry only if they have slices in one segment. Instances come and go during
a race, so the matrix is a chain of small dense blocks. Each block is a front: the instances of a
few segments in a row, and earlier ones that have slices later. Block elimination solves a system
front by front (the frontal method; Duff, Erisman & Reid, Direct Methods for Sparse Matrices, 1986,
chapter 10). Its time grows with the number of instances times the square of those alive together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.model.slices import Indices

_ENDED = 64  # the fewest instances that end with a front; smaller fronts would save nothing


@dataclass(frozen=True)
class Front:
    """Instances that are eliminated together, and those that their equations involve.

    It takes the segments from `begin` to before `end`. The first `ended` of `members` have no
    slice later. `carried` are the indices in `members` of the last front's others, in their order;
    `places` [segment, local] are those of the segments' instances, len(members) as padding.
    """

    begin: int
    end: int
    members: Indices
    ended: int
    carried: Indices
    places: Indices

    @property
    def leaving(self) -> Indices:
        return self.members[: self.ended]

    @property
    def staying(self) -> Indices:
        return self.members[self.ended :]


def fronts(instances: Indices) -> Iterator[Front]:
    """The fronts of `instances` [segment, local], which has -1 as padding and every instance."""
    segments, size = len(instances), int(instances.max()) + 1
    segment, _ = np.nonzero(instances >= 0)
    last = np.zeros(size, dtype=np.int64)
    np.maximum.at(last, instances[instances >= 0], segment)
    through = np.cumsum(np.bincount(last, minlength=segments))
    begin, staying = 0, np.array([], dtype=np.int64)
    while begin < segments:
        before = int(through[begin - 1]) if begin else 0
        end = min(int(np.searchsorted(through, before + _ENDED)) + 1, segments)
        if size - int(through[end - 1]) < _ENDED:
            end = segments
        seen = np.unique(np.append(instances[begin:end], staying))
        seen = seen[seen >= 0]
        over = last[seen] < end
        members = np.concatenate([seen[over], seen[~over]])
        place = np.full(size + 1, len(members))
        place[members] = np.arange(len(members))
        yield Front(
            begin, end, members, int(over.sum()), place[staying], place[instances[begin:end]]
        )
        begin, staying = end, seen[~over]


@dataclass(frozen=True)
class InstanceMatrix:
    """The sum of one dense block per front, [member, member]."""

    size: int
    fronts: tuple[Front, ...]
    blocks: tuple[Floats, ...]

    @classmethod
    def of(cls, fronts: tuple[Front, ...], parts: Floats) -> "InstanceMatrix":
        """Sum up `parts` [segment, local, local]."""
        blocks = []
        for front in fronts:
            side = len(front.members) + 1
            index = front.places[:, :, None] * side + front.places[:, None, :]
            summed = np.bincount(index.ravel(), parts[front.begin : front.end].ravel(), side**2)
            blocks.append(summed.astype(float).reshape(side, side)[:-1, :-1])
        return cls(sum(front.ended for front in fronts), fronts, tuple(blocks))

    @cached_property
    def diagonal(self) -> Floats:
        total = np.zeros(self.size)
        for front, block in zip(self.fronts, self.blocks, strict=True):
            total[front.members] += np.diag(block)
        return total

    def __matmul__(self, right: Floats) -> Floats:
        """The product with `right` [instance, column]."""
        product = np.zeros_like(right)
        for front, block in zip(self.fronts, self.blocks, strict=True):
            product[front.members] += block @ right[front.members]
        return product

    def factors(self, scale: Floats, shift: float) -> "Factors":
        """Those of diag(scale) @ matrix @ diag(scale) + shift * I, for a positive `shift`."""
        pivots: list[Floats] = []
        links: list[Floats] = []
        carried = np.zeros((0, 0))
        for front, block in zip(self.fronts, self.blocks, strict=True):
            own = scale[front.members]
            total = block * own * own[:, None]
            fresh = np.full(len(own), shift)
            fresh[front.carried] = 0.0
            total[np.diag_indices(len(own))] += fresh
            total[np.ix_(front.carried, front.carried)] += carried
            pivot, beside = total[: front.ended, : front.ended], total[: front.ended, front.ended :]
            link = np.asarray(np.linalg.solve(pivot, beside) if beside.size else beside, float)
            carried = total[front.ended :, front.ended :] - beside.T @ link
            pivots.append(pivot)
            links.append(link)
        return Factors(self, tuple(pivots), tuple(links))


@dataclass(frozen=True)
class Factors:
    """A positive definite matrix after block elimination, ready for right-hand sides.

    For each front, `pivots` [ended, ended] is what earlier fronts leave of its block, and `links`
    [ended, other member] its inverse times the block beside it.
    """

    matrix: InstanceMatrix
    pivots: tuple[Floats, ...]
    links: tuple[Floats, ...]

    def solve(self, right: Floats) -> Floats:
        """The inverse times `right` [instance] or [instance, column]."""
        solved = np.array(right)
        steps = list(zip(self.matrix.fronts, self.pivots, self.links, strict=True))
        for front, _, link in steps:
            solved[front.staying] -= link.T @ solved[front.leaving]
        for front, pivot, link in reversed(steps):
            own = np.linalg.solve(pivot, solved[front.leaving])
            solved[front.leaving] = own - link @ solved[front.staying]
        return solved

    def trace_of_product(self) -> float:
        """The trace of the inverse times the unscaled, unshifted matrix.

        It needs only the entries of the inverse within fronts (Takahashi, Fagan & Chin, Formation
        of a sparse bus impedance matrix, 1973).
        """
        trace, after = 0.0, np.zeros((0, 0))
        fronts = self.matrix.fronts
        for k in reversed(range(len(fronts))):
            ended, link = fronts[k].ended, self.links[k]
            if k + 1 < len(fronts):
                carried = fronts[k + 1].carried
                after = after[np.ix_(carried, carried)]
            inverse = np.empty((len(fronts[k].members),) * 2)
            across = -link @ after
            inverse[ended:, ended:] = after
            inverse[:ended, ended:], inverse[ended:, :ended] = across, across.T
            inverse[:ended, :ended] = np.linalg.inv(self.pivots[k]) - across @ link.T
            trace += float(np.vdot(inverse, self.matrix.blocks[k]))
            after = inverse
        return trace
