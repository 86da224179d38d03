"""The page's sections on real data: [Karciauskas2005] tables 4.2, 4.3, 6.13-6.15, the checks of 6.3.4, and 6.3.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .cardinality_published import LARGE, REAL, SPAMBASE_UNLIMITED, TEXTS, WITHOUT_ADJUSTMENT
from .cardinality_runs import BASELINES, DETERMINISTIC, FEWER_STARTS
from .cardinality_shown import (
    BETTER,
    Run,
    better,
    cell,
    curve,
    curves,
    gap,
    half,
    mean,
    scored,
    seconds,
    significantly,
    states,
    time_of,
)
from .page import markdown
from .parts import Answers
from .pictures import Panel

__all__ = ["anytime_panels", "anytime_section", "misleading_section", "real_panels", "real_section"]

LEARNERS = ("Standard3", "SplitMerge", "StandardFixed")
RACED = ("Standard", "Splitting", "StandardFixed", "screened")
WANTED, WANTED_LARGE = 10, 3
"""Runs of each learner that the page shall have in the end."""
SOURCE_WORDS = 15_715
"""Words of the source's training documents (appendix A)."""
MOMENTS, EARLY = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0), 0.1
"""Seconds at which races are looked at; the one that is told in words."""
MANY_STATES = 15
"""From how many states on the races of chapter 4 are counted as ones of many."""
TOLERATED = 0.1
"""How far below the best published score a run still counts as reaching it: the sources round to one digit."""

Found = dict[str, dict[str, list[Run]]]


def _found(kept: Answers) -> Found:
    """Runs by data set and learner."""
    out: Found = {name: {} for name in REAL}
    for record in kept.all("real"):
        which = record["which"]
        out[which["data"]].setdefault(which["learner"], []).append(record["answer"])
    return out


# ---- tables 6.13 to 6.15 --------------------------------------------------------------------------------------------


def real_section(kept: Answers) -> str:
    """Tables 6.13 to 6.15, the checks of 6.3.4, and the baselines."""
    found = _found(kept)
    rows, won, tied, lost = [], 0, 0, []
    for name, told in REAL.items():
        own = found[name]
        ours = own.get("screened", [])
        line = [name.capitalize() + ("†" if told.stopped else "")]
        line += [f"{value:.1f}" for value in (told.standard3, told.split_merge, told.standard_fixed)]
        line += [cell(own.get(m, [])) for m in (*LEARNERS, "screened")]
        if ours:
            above = min(run["score"] for run in ours) - told.best
            won, tied = won + (above > TOLERATED), tied + (abs(above) <= TOLERATED)
            lost += [name] if above < -TOLERATED else []
            line.append(gap(above))
        rows.append([*line, *([""] if not ours else [])])
    head = ["data", *(f"K: {m}" for m in LEARNERS), *LEARNERS, "screened", "its worst run over K's best"]
    return f"""
## Twenty real data sets (tables 6.13 to 6.15)

After each mean: states of the best run; seconds; runs. A run ends after {kept.size("real")["limit"]:g} processor
seconds if it has not ended before; then the time has a `*`. StandardFixed has the states of SplitMerge's best run and
the mean of its times. † [Karciauskas2005] stopped SplitMerge at 5 hours. {kept.made("real").capitalize()}.

{markdown(head, rows)}
screened, its worst run against the best of the three means of K: better on {won} of {won + tied + len(lost)} data sets,
equal (within {TOLERATED}) on {tied}, worse on {len(lost)}{" (" + ", ".join(lost) + ")" if lost else ""}.

{_runs(found)}
{_against(found)}
{_adjusted(found)}
{_baselines(found)}
"""


def _runs(found: Found) -> str:
    """Which runs there are, which ended by themselves, and which are missing."""
    known = [(name, m, own.get(m, [])) for name, own in found.items() for m in LEARNERS[:2]]
    stopped = [
        f"{m} on {name.capitalize()} ({sum(not r['ended'] for r in runs)} of {len(runs)})"
        for name, m, runs in known
        if not all(run["ended"] for run in runs)
    ]
    missing = []
    for name, own in found.items():
        wanted = WANTED_LARGE if name in LARGE else WANTED
        lacking = [max(wanted - len(own.get(m, [])), 0) for m in LEARNERS]
        missing += [f"{name.capitalize()} {'/'.join(map(str, lacking))}"] if any(lacking) else []
    ended = sum(run["ended"] for *_, runs in known for run in runs)
    total = sum(len(runs) for *_, runs in known)
    text = f"**Size of the runs.** Of {total} runs of Standard3 and SplitMerge, {ended} ended by themselves. "
    text += f"Stopped by the limit: {', '.join(stopped)}. " if stopped else ""
    wanted_runs = f"{WANTED} runs on each data set, at least {WANTED_LARGE} on those marked †"
    if not missing:
        return text + f"There are {wanted_runs}.\n"
    text += f"There shall be {wanted_runs}; still missing, of {'/'.join(LEARNERS)}: {', '.join(missing)}.\n"
    return text


def _against(found: Found) -> str:
    """6.3.4: SplitMerge against Standard3, and merging."""
    big = [name for name, told in REAL.items() if name in LARGE or name in ("page", "shuttle", "thyroid")]
    lines, first = [], []
    for label, names, told in (
        (
            "more than 4,500 rows",
            big,
            {"Standard3": "9 better, 6 significantly", FEWER_STARTS: "6 significantly better"},
        ),
        ("fewer", [n for n in REAL if n not in big], {"Standard3": "8 similar, 3 worse, 1 significantly"}),
    ):
        for other in ("Standard3", FEWER_STARTS, "StandardFixed"):
            known = [n for n in names if {"SplitMerge", other} <= set(found[n])]
            counts = _counts([(found[n]["SplitMerge"], found[n][other]) for n in known])
            lines.append([label, other, str(len(known)), *counts, told.get(other, "")])
            planned = {n: WANTED_LARGE if n in LARGE else WANTED for n in known}
            alone = _counts([(found[n]["SplitMerge"][:k], found[n][other][:k]) for n, k in planned.items()])
            first += [f"better than {other} on {alone[0]} and worse on {alone[2]}"] if alone != counts else []
    tried = {n: own["SplitMerge"] for n, own in found.items() if own.get("SplitMerge")}
    merging = {n: [r for r in runs if _steps(r, "merge")] for n, runs in tried.items()}
    helped = [n for n, runs in merging.items() if any(_gained(r, "merge") for r in runs)]
    return f"""**SplitMerge against the others** (6.3.4): data sets on which its mean is better by more than 1,
similar, or worse; in brackets those where the intervals do not overlap.

{markdown(["data sets with", "against", "compared", "better", "similar", "worse", "K"], lines)}
{_first_runs(found, first)}Merging was tried on {sum(bool(runs) for runs in merging.values())} data sets and raised
the score in some run on {len(helped)} (K: 16 and 7).
"""


def _counts(pairs: Sequence[tuple[list[Run], list[Run]]]) -> list[str]:
    """On how many data sets the first learner is better, similar and worse; in brackets, significantly."""
    plain, sure = [better(*p) for p in pairs], [significantly(*p) for p in pairs]
    return [f"{plain.count(v)} ({sure.count(v)})" if v else str(plain.count(v)) for v in (1, 0, -1)]


def _first_runs(found: Found, told: Sequence[str]) -> str:
    """Which large data sets have more runs than planned, and what the planned ones alone say."""
    more = [name.capitalize() for name in LARGE if len(found[name].get("SplitMerge", [])) > WANTED_LARGE]
    if not more or not told:
        return ""
    return f"""{", ".join(more)}, where runs are quick, were given more than the {WANTED_LARGE} planned after these had
been seen. By the first {WANTED_LARGE} runs on each large data set SplitMerge is {"; ".join(told)}.

"""


def _steps(run: Run, operation: str) -> list[int]:
    return [i for i, step in enumerate(run["trace"]) if step[2] == operation]


def _gained(run: Run, operation: str) -> bool:
    trace = run["trace"]
    return any(i and trace[i][1] > trace[i - 1][1] for i in _steps(run, operation))


def _adjusted(found: Found) -> str:
    """Tables 6.14 and 6.15: without a limit; before the first adjustment."""
    rows, plainly, surely = [], [], []
    for name, told in WITHOUT_ADJUSTMENT.items():
        runs = [run for run in found[name].get("SplitMerge", []) if _steps(run, "adjust")]
        if not runs:
            continue
        before = [run["trace"][_steps(run, "adjust")[0] - 1] for run in runs]
        plain = [{"score": b[1], "seconds": b[0], "ended": True, "states": {"z": b[3]}} for b in before]
        plainly.append(better(runs, plain))
        surely.append(significantly(runs, plain))
        line = [name.capitalize(), f"{REAL[name].split_merge:.1f}", f"{told:.1f}"]
        rows.append(
            [*line, *(f"{scored(mean(r), half(r))} ({states(r)}; {seconds(r)}; {len(r)})" for r in (runs, plain))]
        )
    own = found["spambase"]
    spambase = [
        [m, f"{scored(*SPAMBASE_UNLIMITED[m][:2])} ({SPAMBASE_UNLIMITED[m][3]})", _minutes(m), cell(own.get(m, []))]
        for m in LEARNERS
    ]
    return f"""**Spambase without a limit** (table 6.14); whether ours ended by itself, the time says:

{markdown(["learner", "K (states)", "K: time", "ours"], spambase)}
**Without parameter adjustment** (table 6.15). As in K, no new runs: where SplitMerge's runs stood before they first
adjusted. Runs that never came to it are left out.

{markdown(["data", "K: SplitMerge", "K: without", "SplitMerge", "without"], rows)}
Adjusting raised the mean by more than 1 on {plainly.count(1)} of these {len(plainly)} data sets ({surely.count(1)}
significantly); K: on 7 of 11 (4).
"""


def _minutes(learner: str) -> str:
    minutes = SPAMBASE_UNLIMITED[learner][2]
    return "" if minutes is None else f"{minutes} min"


def _baselines(found: Found) -> str:
    """Learners beside those of the source."""
    names = [*BASELINES, *DETERMINISTIC]
    rows, few, below = [], [], dict.fromkeys(names, 0)
    compared = dict.fromkeys(names, 0)
    for name, own in found.items():
        known = [m for m in names if own.get(m)]
        if not known or not own.get("SplitMerge"):
            continue
        for m in known:
            compared[m] += 1
            below[m] += better(own["SplitMerge"], own[m]) > 0
        if known == [FEWER_STARTS]:
            few.append(f"{name.capitalize()} {scored(mean(own[FEWER_STARTS]), half(own[FEWER_STARTS]))}")
            continue
        rows.append([name.capitalize(), *(cell(own.get(m, [])) for m in ("SplitMerge", *names))])
    if not rows:
        return ""
    worse = ", ".join(f"{m} on {below[m]} of {compared[m]}" for m in names if compared[m])
    large = f" {FEWER_STARTS}, on the large ones: {'; '.join(few)}." if few else ""
    return f"""**Other learners** on the data sets on which K's were not stopped. IntroduceRemove has the phases of
SplitMerge, but introduces a uniform state (with "rows", states around rows) instead of splitting one, and removes
states instead of merging them: K's other way of changing a number of states (definitions 4.1 and 5.1), which did worse
in K's first trials (4.4.1). BlekasLikas is the closest earlier work for latent class models (3.3). The last three leave
nothing to chance.

{markdown(["data", "SplitMerge", *names], rows)}
SplitMerge has the better mean by more than 1: against {worse}.{large}
"""


def real_panels(kept: Answers) -> list[Panel]:
    """Figures 6.4 to 6.7."""
    found = _found(kept)
    shown = ("mushroom", "thyroid", "image", "voting")
    learners = (*LEARNERS, "screened")
    named = {n: {m: found[n][m] for m in learners if found[n].get(m)} for n in shown}
    return [curves(name.capitalize(), own) for name, own in named.items() if len(own) > 1]


# ---- tables 4.2 and 4.3 ---------------------------------------------------------------------------------------------


def anytime_section(kept: Answers) -> str:
    """Cheeseman-Stutz scores of Standard, Splitting and StandardFixed."""
    rows, counts, sure = [], {1: 0, 0: 0, -1: 0}, {1: 0, 0: 0, -1: 0}
    late, missing, faster = [], [], 0
    by_states: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
    for name, told in TEXTS.items():
        records = kept.all("anytime", data=name)
        if not records:
            missing.append(name)
            continue
        own = records[0]["answer"]
        sets = {m: own.get(m, []) for m in RACED}
        ratio, fixed = (_ratio(sets[m], sets["Splitting"]) for m in ("Standard", "StandardFixed"))
        counts[better(sets["Splitting"], sets["Standard"])] += 1
        sure[significantly(sets["Splitting"], sets["Standard"])] += 1
        faster += ratio is not None and ratio > 1
        many = float(np.mean([sum(run["states"].values()) for run in sets["Splitting"]])) >= MANY_STATES
        by_states[many].append((better(sets["Splitting"], sets["Standard"]), ratio or 0.0))
        late += [f"{name.capitalize()} ({own['limit']:g} s)"] if own["rate"] >= 0.1 else []
        theirs = [f"{scored(told.standard, told.standard_half)} ({told.standard_states})"]
        theirs += [f"{scored(told.splitting, told.splitting_half)} ({told.splitting_states})", f"{told.ratio:.1f}"]
        theirs += [f"{scored(*told.fixed[:2])} ({told.fixed[2]})", f"{told.fixed[3]:.1f}"] if told.fixed else ["", ""]
        theirs += [f"{told.minutes} min"]
        ours = [_raced(sets["Standard"]), _raced(sets["Splitting"]), _times(ratio)]
        ours += [_raced(sets["StandardFixed"]), _times(fixed), _raced(sets["screened"])]
        rows.append([name.capitalize(), *theirs, f"{own['limit']:g} s", *ours])
    size = kept.size("anytime")
    documents = max((r["answer"]["rows"] for r in kept.all("anytime") if r["which"]["data"].endswith("0")), default=0)
    head = [
        "data",
        "K: Standard",
        "K: Splitting",
        "K: ratio",
        "K: StandardFixed",
        "K: ratio",
        "K: time",
        "time",
        "Standard",
        "Splitting",
        "ratio",
    ]
    head += ["StandardFixed", "ratio", "screened"]
    found = ", where a lucky start now and then finds a better model"
    rule = f" That was not met on {', '.join(late)}{found}." if late else ""
    absent = f" Not run: {', '.join(missing)}." if missing else ""
    return f"""
## Cheeseman-Stutz scores (tables 4.2 and 4.3, figures 4.8 and 4.9)

Posterior modes in the softmax basis, α = 1, p = 0.1; mean of {size["runs"]} runs (screened: one), with the mean number
of states. None of the three learners ends by itself. As in 4.5.2, Standard runs until the last third of the time has
brought less than a tenth of what the middle third brought to its mean score: of {size["shortest"]:g} s, twice that, and
so on, the first at which that holds and held at half of it. Splitting runs as long, and so does StandardFixed where the
two differ significantly; screened has no limit.{rule} The ratio says how many times sooner Splitting came to the mean
score at which Standard (StandardFixed) ended, or to its own end if that is lower.
{kept.made("anytime").capitalize()}.{absent}

The nine text data sets are made of Reuters-21578 as in appendix A ({documents:,.0f} documents; K has 10,787), with
scikit-learn's stop words, words of one letter and forms of "say" left out: K's list is lost.{_texts_told(kept)} So only
Solar, Soybean and Mushroom have K's data.

{markdown(head, rows)}
Splitting has the better mean by more than 1 on {counts[1]} data sets ({sure[1]} significantly), a similar one on
{counts[0]}, a worse one on {counts[-1]} ({sure[-1]} significantly); K: 7 (4), 5, 0. It came to the common score sooner
on {faster} (K: on all 12).{_states_told(by_states)}

{_lead(kept)}"""


def _lead(kept: Answers) -> str:
    """How far Splitting's mean score is above Standard's as time goes on."""
    rows = []
    for name in TEXTS:
        for record in kept.all("anytime", data=name):
            own = record["answer"]
            at = [_above(own, t) if t <= own["limit"] else "" for t in MOMENTS]
            rows.append([name.capitalize(), *at])
    early = [row[1:][MOMENTS.index(EARLY)] for row in rows]
    ahead = sum(text.startswith("+") and float(text) > BETTER for text in early)
    behind = sum(text.startswith("-") and float(text) < -BETTER for text in early)
    return f"""**Who is ahead when** (figures 4.8 and 4.9, of which K says that Splitting's models have the higher score
at any moment): mean score of Splitting less that of Standard, after so many processor seconds. After {EARLY:g} s
Splitting is ahead by more than {BETTER:g} on {ahead} data sets and behind on {behind}.{_passed(kept)}

{markdown(["data", *(f"{t:g} s" for t in MOMENTS)], rows)}"""


def _passed(kept: Answers) -> str:
    """When Standard came to where the source's ended, on the data that are the source's own."""
    told = []
    for name in ("soybean", "mushroom"):
        for record in kept.all("anytime", data=name):
            t = time_of(record["answer"]["Standard"], TEXTS[name].standard)
            told += [] if t is None else [f"{t:.2f} s on {name.capitalize()}"]
    if not told:
        return ""
    return f""" Standard passed the mean score at which K's ended after {" and ".join(told)}: later columns show what K
did not see."""


def _above(own: Mapping[str, Any], t: float) -> str:
    return f"{curve(own['Splitting'], t) - curve(own['Standard'], t):+.1f}"


def _states_told(by_states: Mapping[bool, Sequence[tuple[int, float]]]) -> str:
    """How Splitting does where it finds many states, and where few."""
    if not all(by_states.values()):
        return ""
    wins, sooner = ({k: sum(test(*own) for own in v) for k, v in by_states.items()} for test in (_wins, _sooner))
    many, few = (len(by_states[k]) for k in (True, False))
    return f""" "Splitting outperforms Standard more as the number of components increases", K says (4.5.4). Here, where
it finds {MANY_STATES} states or more (a limit drawn with the results in view) it has the better mean on {wins[True]} of
{many} data sets and is sooner on {sooner[True]}; where it finds fewer, on {wins[False]} and {sooner[False]} of {few}.
With few states random starts find models as good, and Splitting can stay at one that no split tried improves, as on
Corn30."""


def _wins(against: int, ratio: float) -> bool:
    return against > 0


def _sooner(against: int, ratio: float) -> bool:
    return ratio > 1


def _texts_told(kept: Answers) -> str:
    """How the text data differ from the source's, and what was tried."""
    if not kept.has("texts"):
        return ""
    own = kept.of("texts", reading="as here")
    names, away = list(own["chosen"]), list[float]()
    rows = [
        ["K", f"{SOURCE_WORDS:,}", *(f"{TEXTS[name].splitting:.1f} ({TEXTS[name].splitting_states})" for name in names)]
    ]
    for record in kept.all("texts"):
        told = record["answer"]
        scores = [f"{told['found'][name][0]:.1f} ({told['found'][name][1]})" for name in names]
        away += [abs(told["found"][name][0] - TEXTS[name].splitting) for name in names]
        rows.append([record["which"]["reading"], f"{told['words']:,}", *scores])
    words = "; ".join(f"{name.capitalize()} {', '.join(chosen)}" for name, chosen in own["chosen"].items())
    return f""" It is not all that differs: K has {SOURCE_WORDS:,} words that occur in two training documents, we have
{own["words"]:,}, so that K's texts were longer or were cut into words in another way. Other readings of the appendix
come to other scores (of screened, with its states), of which the nearest to K's is {min(away):.1f} away:

{markdown(["reading", "words", *(name.capitalize() for name in names)], rows)}
The words, from the most telling on: {words}."""


def _raced(runs: Sequence[Run]) -> str:
    """Mean score and mean number of states; empty if it did not run."""
    if not runs:
        return ""
    return f"{scored(mean(runs), half(runs))} ({np.mean([sum(run['states'].values()) for run in runs]):.0f})"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}"


def _ratio(slow: Sequence[Run], quick: Sequence[Run]) -> float | None:
    if not slow:
        return None
    target = min(mean(slow), mean(quick))
    times = [time_of(runs, target) for runs in (slow, quick)]
    return None if None in times or not times[1] else float(times[0] or 0.0) / times[1]


def anytime_panels(kept: Answers) -> list[Panel]:
    """Figures 4.8 and 4.9, and one more."""
    panels = []
    for name in ("corn10", "earn30", "soybean", "mushroom"):
        for record in kept.all("anytime", data=name):
            own: Mapping[str, Any] = record["answer"]
            named = {m: own[m] for m in RACED if m in own}
            panels.append(curves(f"{name.capitalize()} (Cheeseman-Stutz)", named))
    return panels


# ---- 6.3.1 ----------------------------------------------------------------------------------------------------------


def misleading_section(kept: Answers) -> str:
    """Cheeseman-Stutz against likelihood."""
    size = kept.size("misleading")
    rows = []
    for record in kept.all("misleading"):
        pairs = np.array(record["answer"])
        ll, score = pairs[:, 0] - pairs[:, 2], pairs[:, 1] - pairs[:, 3]
        against = int((ll * score < 0).sum())
        rows.append([record["which"]["at"], str(len(pairs)), str(against), f"{100 * against / len(pairs):.0f} %"])
    return f"""
## Cheeseman-Stutz against likelihood (6.3.1)

Two fits of one structure can have the higher score where they have the lower likelihood, since the score's penalty
depends on the parameters. As in K's footnote: {size["rows"]:,} rows from a random 5:5x2 model, two 5:5x2 models learned
from {size["starts"]} random starts each. K found it in 7 of 20 trials (35 %). {kept.made("misleading").capitalize()}.

{markdown(["parameters at", "data sets", "score and likelihood disagree", "share"], rows)}"""
