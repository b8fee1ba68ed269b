# SPDX-License-Identifier: GPL-2.0-only
"""Makes known_answers.json: fixed data sets with the answers of SciPy, NumPy and statsmodels.

    pip install numpy scipy statsmodels && python3 known_answers.py > known_answers.json

Nothing here is needed to build or to test; the tests read the JSON. Every answer comes from a
library's function, or from the definition by enumeration where no library has one.
"""
import itertools
import json
import math

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20260101)


def rounded(values):
    """Digits that survive text, with ties now and then."""
    return [round(float(value), 3) for value in values]


def sample(kind, n):
    if kind == "normal":
        return rounded(rng.normal(100, 5, n))
    if kind == "lognormal":
        return rounded(rng.lognormal(3, 1, n))
    if kind == "pareto":
        return rounded(10 * (1 + rng.pareto(1.5, n)))
    if kind == "ties":
        return [float(value) for value in rng.integers(0, 6, n)]
    return rounded(rng.uniform(-1, 1, n))


KINDS = ["normal", "lognormal", "pareto", "ties", "uniform"]


def enumerated_tails(ours, base):
    """The permutation distribution of the midrank sum, by enumeration in SciPy."""
    ranks = stats.rankdata(ours + base)

    def tail(alternative):
        result = stats.permutation_test(
            (ranks[: len(ours)], ranks[len(ours):]),
            lambda a, b, axis=-1: np.sum(a, axis=axis),
            permutation_type="independent", alternative=alternative,
            n_resamples=np.inf, vectorized=True)
        return float(result.pvalue)

    return tail("less"), tail("greater")


def two_samples(kind, n, m):
    ours, base = sample(kind, n), sample(kind, m)
    answer = {"kind": kind, "ours": ours, "baseline": base,
              "shift": float(np.median(np.subtract.outer(ours, base)))}
    untied = len(set(ours + base)) == n + m
    if untied and n + m <= 60:
        tails = [stats.mannwhitneyu(ours, base, alternative=side, method="exact").pvalue
                 for side in ("less", "greater")]
    elif n + m > 60:
        tails = [stats.mannwhitneyu(ours, base, alternative=side, method="asymptotic").pvalue
                 for side in ("less", "greater")]
    else:
        tails = enumerated_tails(ours, base)
    answer["below"], answer["above"] = map(float, tails)
    return answer


def paired(kind, n):
    differences = [round(a - b, 3) for a, b in zip(sample(kind, n), sample(kind, n))]
    answer = {"differences": differences}
    sizes = [abs(d) for d in differences]
    if 0.0 not in differences and len(set(sizes)) == n:
        answer["rank_below"], answer["rank_above"] = (
            float(stats.wilcoxon(differences, alternative=side, method="exact").pvalue)
            for side in ("less", "greater"))
    averages = sorted((a + b) / 2 for a, b in
                      itertools.combinations_with_replacement(differences, 2))
    # How many of all choices of signs have so small a sum of positive ranks.
    sums = sorted(sum(ranks) for size in range(n + 1)
                  for ranks in itertools.combinations(range(1, n + 1), size))
    outside = max(k for k in range(len(averages))
                  if sum(s < k for s in sums) <= 0.025 * 2**n)
    answer["shift"] = float(np.median(averages))
    answer["ends"] = [averages[outside - 1], averages[-outside]] if outside else None
    return answer


def skipped():
    """Draws the data of sets that are gone, so that those below stay the same."""
    for kind in ("normal", "ties"):
        for n, m in [(1, 1)] * 6 + [(2, 2)] * 4 + [(3, 2), (2, 3), (1, 4)]:
            sample(kind, n), sample(kind, m)
    return []


def one_sample(kind, n):
    values = sample(kind, n)
    return {"values": values, "median": float(np.median(values)),
            "deviation": float(stats.median_abs_deviation(values))}


def holm(n):
    raw = sorted(round(float(p), 6) for p in rng.beta(0.5, 3, n))
    rng.shuffle(raw)
    return {"raw": raw, "adjusted": [float(p) for p in multipletests(raw, method="holm")[1]]}


def ranks(n, q):
    below, above = stats.binom(n, q).cdf, stats.binom(n, q).sf
    low = [k for k in range(1, n + 1) if below(k - 1) <= 0.025]
    high = [k for k in range(1, n + 1) if above(k - 1) <= 0.025]
    found = [max(low), min(high)] if low and high else None
    return {"count": n, "quantile": q, "ranks": found}


def tail(units):
    t = stats.t.ppf(0.975, units - 1)
    return {"units": units, "student": float(t),
            "tail": float(stats.norm.cdf(-math.sqrt(units / (units - 1)) * t))}


def segments(levels, penalty):
    """Optimal partitioning by dynamic programming, without pruning; segments of two at least."""
    values = rounded(np.concatenate([rng.normal(level, 1, n) for level, n in levels]))
    n, best = len(values), [(-penalty, [])] + [(math.inf, [])] * len(values)
    for end in range(2, n + 1):
        def reach(start):
            part = np.array(values[start:end])
            return best[start][0] + float(((part - part.mean()) ** 2).sum()) + penalty
        start = min(range(0, end - 1), key=reach)
        best[end] = (reach(start), best[start][1] + ([start] if start else []))
    return {"values": values, "penalty": penalty, "cuts": best[n][1]}


def interval(kind, n, m):
    """Hodges and Lehmann's shift with Moses's interval, as R's wilcox.test(conf.int = TRUE) has it
    without ties: how many sums of ranks lie in 2.5 % of the tail is counted by enumeration."""
    ours, base = sample(kind, n), sample(kind, m)
    differences = np.sort(np.subtract.outer(ours, base).ravel())
    sums = [sum(choice) - n * (n - 1) // 2 for choice in itertools.combinations(range(n + m), n)]
    counts = np.bincount(sums)
    within = int(np.searchsorted(np.cumsum(counts), 0.025 * counts.sum(), side="right"))
    ends = [float(differences[within - 1]), float(differences[-within])] if within else None
    return {"ours": ours, "baseline": base, "shift": float(np.median(differences)), "ends": ends}


def quantiles(n):
    values = [int(value) for value in rng.integers(0, 2000, n)]
    wanted = [0.5, 0.9] if n < 368 else [0.5, 0.9, 0.99]
    found = np.quantile(values, wanted, method="inverted_cdf")
    return {"values": values, "quantiles": wanted, "found": [float(value) for value in found]}


def distributions(z, t, degrees, n, q):
    counts = sorted({0, n, n // 2, int(n * q)})
    within = stats.t.cdf(t, degrees) - stats.t.cdf(-t, degrees)
    return {"z": z, "below": float(stats.norm.cdf(z)), "t": t, "degrees": degrees,
            "within": float(within), "n": n, "q": q,
            "binomial": [[k, float(stats.binom.pmf(k, n, q))] for k in counts]}


SIZES = [(6, 6), (8, 8), (10, 10), (5, 9), (12, 7)]
answers = {
    "made_with": {"numpy": np.__version__, "scipy": scipy.__version__,
                  "statsmodels": statsmodels.__version__},
    "two_samples": [two_samples(kind, n, m) for kind in KINDS for n, m in SIZES]
    + [two_samples("normal", 25, 30), two_samples("ties", 40, 45), two_samples("pareto", 50, 35)],
    "paired": [paired(kind, n) for kind in KINDS for n in (6, 11)],
    "one_sample": skipped() + [one_sample(kind, n) for kind in KINDS for n in (7, 12)],
    "holm": [holm(n) for n in (1, 5, 21, 60)],
    "ranks": [ranks(n, q) for n in (6, 36, 100, 368, 3688) for q in (0.5, 0.9, 0.99, 0.999)],
    "tails": [tail(units) for units in (2, 3, 6, 7, 10, 31, 101, 202, 500)],
    "segments": [segments(levels, penalty) for levels, penalty in (
        ([(5, 10), (9, 10)], 8.0), ([(5, 4), (9, 16)], 8.0), ([(5, 30)], 8.0),
        ([(0, 5), (2, 5), (0, 5)], 3.0), ([(0, 20), (8, 2), (0, 20)], 10.0), ([(1, 7)], 0.5))],
    "intervals": [interval(kind, n, m) for kind in ("normal", "pareto", "uniform")
                  for n, m in ((4, 4), (6, 6), (8, 8), (5, 9), (3, 3))],
    "quantiles": [quantiles(n) for n in (36, 75, 368, 901)],
    "distributions": [distributions(*shape) for shape in (
        (-6.5, 0.3, 1, 6, 0.5), (-1.96, 2.1, 2, 36, 0.9), (0.0, 4.4, 7, 100, 0.01),
        (1.3, 1.0, 30, 368, 0.99), (4.2, 2.6, 101, 3688, 0.999))],
}
print(json.dumps(answers, indent=None, separators=(",", ":")).replace('},{', '},\n{')
      .replace('":[{', '":[\n{').replace('}],"', '}],\n"'))
