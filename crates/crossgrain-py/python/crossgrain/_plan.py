"""Plans, and the planner for parts of the caller."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from . import _native
from ._number import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import SupportsIndex

    from matplotlib.axes import Axes

    from ._types import CipherName, How, ModeName, PolicyName


@dataclass(frozen=True)
class Stage:
    """A variant in a plan."""

    #: Its name: part/representation/isa.
    name: str
    #: The round that it serves, or 0.
    round: int
    #: The information that its timing may leak; "nothing" if none.
    leaks: str


@dataclass(frozen=True)
class Plan:
    """The variants that a bundle of blocks runs through."""

    #: The blocks of a bundle.
    bundle_blocks: int
    #: The predicted fixed cost in nanoseconds.
    fixed_ns: float
    #: The predicted cost per byte in nanoseconds.
    per_byte_ns: float
    #: The variants in order.
    stages: tuple[Stage, ...]

    def __str__(self) -> str:
        return " > ".join(stage.name for stage in self.stages)

    def _folded(self) -> list[tuple[str, int]]:
        """Consecutive equal stages, merged, each with its count."""
        names = [stage.name for stage in self.stages]
        folded: list[tuple[str, int]] = []
        at = 0
        while at < len(names):
            best = (1, 1)
            for size in range(1, (len(names) - at) // 2 + 1):
                times = 1
                while names[at + times * size : at + (times + 1) * size] == names[at : at + size]:
                    times += 1
                if times > 1 and times * size > best[0] * best[1]:
                    best = (size, times)
            size, times = best
            folded.append((" > ".join(names[at : at + size]), times))
            at += size * times
        return folded


@dataclass(frozen=True)
class Plans:
    """The plans of one job, widest bundle first: the later ones serve what the first leave over.

    Printed, drawn by `plot`, shown as a table by notebooks, and taken by `encrypt` and `decrypt` as `plan`.
    """

    #: The cipher.
    cipher: str
    #: The job, for example "encrypt from a counter".
    job: str
    #: The plans.
    plans: tuple[Plan, ...]
    #: Everything as JSON, as the command line's `plan --save` writes it.
    json: str = field(repr=False)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, index: int) -> Plan:
        return self.plans[index]

    def __str__(self) -> str:
        lines = [f"{self.cipher}, {self.job}"]
        for plan in self.plans:
            speed = f", {1 / plan.per_byte_ns:.1f} GB/s" if plan.per_byte_ns > 0 else ""
            lines.append(f"  from {plan.bundle_blocks} blocks on{speed}")
            lines.extend(f"    {times} x ({name})" if times > 1 else f"    {name}" for name, times in plan._folded())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{plan.bundle_blocks}</td><td>{plan.fixed_ns:.0f}</td><td>{plan.per_byte_ns:.4f}</td><td>"
            + "<br>".join(escape(name) + (f" &times; {times}" if times > 1 else "") for name, times in plan._folded())
            + "</td></tr>"
            for plan in self.plans
        )
        head = "<tr><th>from blocks</th><th>fixed ns</th><th>ns a byte</th><th>variants</th></tr>"
        return f"<table><caption>{escape(self.cipher)}, {escape(self.job)}</caption>{head}{rows}</table>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted time of each plan for 16 bytes to 16 MiB, with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on. By default new ones.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        blocks = [2**log for log in range(21)]
        for plan in self.plans:
            whole = [-(-count // plan.bundle_blocks) * plan.bundle_blocks for count in blocks]
            time_ns = [plan.fixed_ns + plan.per_byte_ns * 16 * count for count in whole]
            ax.plot([16 * count for count in blocks], time_ns, label=plan._folded()[0][0] if plan.stages else "nothing")
        ax.set(xscale="log", yscale="log", xlabel="bytes", ylabel="nanoseconds", title=f"{self.cipher}, {self.job}")
        ax.legend()
        return ax


def plan(
    cipher: CipherName = "aes-256",
    mode: ModeName = "ctr",
    *,
    decrypt: bool = False,
    threads: SupportsIndex = 1,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
) -> Plans:
    """Return the plans that a mode uses on this machine, with their predicted costs.

    Costs that `crossgrain wisdom measure` has stored choose the plans, or else those shipped.

    Parameters
    ----------
    cipher, mode : str
        Names in `CIPHERS` and `MODES`.
    decrypt : bool
        Whether to plan for decryption.
    threads, policy, isa, variants
        As of `encrypt`.

    Returns
    -------
    Plans
        The plans, which `encrypt`, `decrypt`, `seal` and `unseal` accept as `plan`.

    Examples
    --------
    >>> import crossgrain
    >>> plans = crossgrain.plan("aes-256", "ctr")
    >>> plans.job
    'encrypt from a counter'
    """
    how: How = {"threads": number("threads", threads), "policy": policy, "isa": isa, "variants": list(variants), "plans": []}
    job, found, text = _native.plan(cipher, mode, decrypt, how)
    plans = tuple(
        Plan(blocks, fixed, per_byte, tuple(Stage(*stage) for stage in stages)) for blocks, fixed, per_byte, stages in found
    )
    return Plans(cipher, job, plans, text)


@dataclass(frozen=True)
class Composition:
    """The cheapest way through a row of parts, and what to compare it with."""

    #: The cost of the best path.
    total: float
    #: Its edges: part/representation, and conversions.
    path: tuple[str, ...]
    #: The cost of all parts in one representation, by representation, without the conversions at the ends.
    pure: dict[str, float]
    #: The same with these conversions.
    pure_with_ends: dict[str, float]
    #: The saving of the best path over the best pure form, in percent.
    gain_percent: float | None
    #: The path of a greedy choice: cost and path.
    greedy: tuple[float, tuple[str, ...]]
    #: The next best paths: costs and paths.
    runners_up: tuple[tuple[float, tuple[str, ...]], ...]


def compose(costs: Mapping[str, Any] | str, *, runners_up: SupportsIndex = 3) -> Composition:
    """Find the cheapest composition of given parts.

    Parameters
    ----------
    costs : dict or str
        The contents of a file for the command line's `plan --costs`, as a dictionary or as JSON: "parts" in order,
        "representations", the "cost" of each part by representation, "convert" from one to another ("a>b"), the "start"
        and "end" representations, and "rounds".
    runners_up : int
        The number of next best paths to return.

    Returns
    -------
    Composition
        The cheapest path, and others for comparison.

    Examples
    --------
    >>> import crossgrain
    >>> costs = {
    ...     "parts": ["a", "b"],
    ...     "representations": ["x", "y"],
    ...     "cost": {"a": {"x": 1, "y": 5}, "b": {"x": 9, "y": 2}},
    ...     "convert": {"x>y": 1, "y>x": 1},
    ...     "start": ["x"],
    ...     "end": ["y"],
    ... }
    >>> crossgrain.compose(costs).path
    ('a/x', 'x>y', 'b/y')
    """
    text = costs if isinstance(costs, str) else json.dumps(costs)
    found = json.loads(_native.compose(text, number("runners_up", runners_up)))

    def route(of: Mapping[str, Any]) -> tuple[float, tuple[str, ...]]:
        return of["total"], tuple(of["path"])

    return Composition(
        total=found["total"],
        path=tuple(found["path"]),
        pure=found["pure"],
        pure_with_ends=found["pure_with_ends"],
        gain_percent=found["gain_percent"],
        greedy=route(found["greedy"]),
        runners_up=tuple(route(path) for path in found["runners_up"]),
    )
