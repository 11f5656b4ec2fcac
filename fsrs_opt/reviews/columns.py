"""A table as numpy columns of one length: what review logs and cards are kept in.

Why no DataFrame: loading pandas takes longer than fitting most collections, and nothing here needs its index
or its operations. Who wants one calls `to_pandas`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Columns:
    """`table["rating"]` is a column [n_rows], `len(table)` is n_rows, and iterating gives the names.

    arrays: the columns by their names, all of one length and at least one of them.
    """

    arrays: Mapping[str, npt.NDArray[Any]]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def rows(self, which: npt.NDArray[Any]) -> Self:
        """Some of the rows. which: a mask, bool [n_rows], or row numbers."""
        return replace(self, arrays={name: column[which] for name, column in self.arrays.items()})

    def to_pandas(self) -> pd.DataFrame:
        """The same as a DataFrame of its own: what is changed in it changes nothing here."""
        import pandas as pd

        return pd.DataFrame(dict(self.arrays), copy=True)
