"""Which services each dialogue of a generated SGD release uses: every domain as often as in the release."""

from __future__ import annotations

import random
from collections import Counter

from pipelines.corpora.generation import apportion, scaled
from pipelines.corpora.sgd.simulate_counts import Split
from pipelines.corpora.sgd.simulate_schema import SPLITS, service


class Casts:
    """Which services each dialogue of a split uses."""

    def __init__(self, split: str, facts: Split, scale: float, rng: random.Random) -> None:
        self.rng = rng
        self.variants = {}
        for name in SPLITS[split].split():
            self.variants.setdefault(service(name).domain, []).append(name)
        self.turn = Counter()
        counts = [scaled(count, scale, minimum=2) for count in facts.services_per_dialogue]
        self.single = self._single(counts[0], facts.domains)
        self.multi = self._multi(counts[1:], facts, scaled(facts.same_domain, scale) if facts.same_domain else 0)

    def _next(self, domain: str) -> str:
        """A service of the domain, each of them in turn."""
        variants = self.variants[domain]
        self.turn[domain] += 1
        return variants[self.turn[domain] % len(variants)]

    def _single(self, count: int, domains: dict[str, tuple[int, int]]) -> list[tuple[str, ...]]:
        """Domain after domain; where there are too few dialogues, those come first that are rare elsewhere."""
        weights = {domain: single for domain, (single, _) in domains.items() if single}
        if count < len(weights):
            rare = sorted(weights, key=lambda domain: domains[domain][1])[:count]
            weights = {domain: weights[domain] for domain in rare}
        shares = apportion(count, tuple(weights.values()), minimum=1)
        return [(self._next(domain),) for domain, share in zip(weights, shares, strict=True) for _ in range(share)]

    def _multi(self, counts: list[int], facts: Split, same_domain: int) -> list[tuple[str, ...]]:
        """Dialogues with many services first; the domains as often as in the release."""
        widths = [width for width, count in ((4, counts[2]), (3, counts[1]), (2, counts[0])) for _ in range(count)]
        doubled = range(counts[2], counts[2] + same_domain)
        weights = {domain: multi for domain, (_, multi) in facts.domains.items() if multi}
        total = sum(widths) - same_domain
        left = dict(zip(weights, apportion(total, tuple(weights.values()), minimum=1), strict=True))
        casts = []
        for index, width in enumerate(widths):
            is_doubled = index in doubled
            chosen = self._deal(left, width - is_doubled, len(widths) - index, is_doubled)
            names = [self._next(domain) for domain in chosen]
            if is_doubled:
                names.append(self._next(chosen[0]))
            self.rng.shuffle(names)
            casts.append(tuple(names))
        return casts

    def _deal(self, left: dict[str, int], width: int, rows: int, is_doubled: bool) -> list[str]:
        """Different domains for one dialogue, by how many of each are left; the last dialogues take what is most."""
        chosen: list[str] = []
        if is_doubled:
            several = [domain for domain in left if len(self.variants[domain]) > 1]
            chosen.append(max(several, key=left.__getitem__))
        while len(chosen) < width:
            if rows <= 40 or max(left.values()) >= rows - 1:
                domain = max((domain for domain in left if domain not in chosen), key=left.__getitem__)
            else:
                domain = self.rng.choices(list(left), list(left.values()))[0]
            if domain not in chosen:
                chosen.append(domain)
        for domain in chosen:
            left[domain] -= 1
        return chosen
