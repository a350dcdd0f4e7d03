"""What an audit says of annotators: how good each is, who guesses, who disagrees with whom."""

from dataclasses import dataclass
from typing import Any, Self

from disambig._core.messages import plural, printable, quote_value, quoted_list
from disambig.solvers.annotator_model import AnnotatorModel
from disambig.solvers.annotator_quality import Agreement, AnnotatorQuality
from disambig.tabular.audit.findings import Finding

_MOST_SHOWN = 20
_MOST_PAIRS = 3
_PAIRS_IN_JSON = 50
_LONGEST_NAME = 24
# An interval that is wider says that nobody can tell.
_WIDEST = 0.5


@dataclass(frozen=True, eq=False)
class JudgedAnnotators:
    """Annotators as judged by each other."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    quality: tuple[AnnotatorQuality, ...]
    pairs: tuple[Agreement, ...]  # those who agree least first

    @classmethod
    def of(cls, annotators: AnnotatorModel) -> Self:
        """Judge annotators by what the others say; no classifier is asked."""
        quality = annotators.quality()
        return cls(
            tuple(map(str, annotators.annotators)),
            tuple(map(str, annotators.classes)),
            tuple(quality.values()),
            tuple(annotators.agreements()),
        )

    def lines(self) -> list[str]:
        """Return a table: the best first, those of whom little is known last."""
        lines = [f"{'annotator':<{_LONGEST_NAME}}  {'answers':>8}  {'right':>6}  {'95 %':>14}"]
        order = sorted(range(len(self.names)), key=self._rank)
        for number in order[:_MOST_SHOWN]:
            one, name = self.quality[number], printable(self.names[number], _LONGEST_NAME)
            low, high = one.accuracy.low, one.accuracy.high
            right = f"{one.accuracy.share:.2f}" if _is_told(one) else "?"
            remark = "  nearly at random" if one.is_random else ""
            lines.append(
                f"{name:<{_LONGEST_NAME}}  {one.n_answers:>8,}  {right:>6}  "
                f"{f'{low:.2f} to {high:.2f}':>14}{remark}"
            )
        if len(order) > _MOST_SHOWN:
            lines.append(f"and {len(order) - _MOST_SHOWN:,} more")
        return lines

    def _rank(self, number: int) -> tuple[bool, float]:
        one = self.quality[number]
        return not _is_told(one), -one.accuracy.share

    def findings(self) -> list[Finding]:
        """Return who guesses, who never uses a label, and who disagrees more than chance would."""
        found = []
        guessing = [
            name for name, one in zip(self.names, self.quality, strict=True) if one.is_random
        ]
        if guessing:
            answer, whom = (
                ("answers", "this person") if len(guessing) == 1 else ("answer", "these people")
            )
            found.append(
                Finding(
                    "annotators_at_random",
                    f"{quoted_list(guessing)} {answer} nearly at random, "
                    "as far as the others can tell.",
                    "Such answers hardly count where annotators are weighed; ask "
                    f"{whom} what the question was.",
                )
            )
        for name, one in zip(self.names, self.quality, strict=True):
            if one.never:
                labels = [self.labels[column] for column in one.never]
                found.append(
                    Finding(
                        "label_never_used",
                        f"{quote_value(name)} gave {plural(one.n_answers, 'answer')} and never "
                        f"used {quoted_list(labels)}, which, going by the others, was right for "
                        "some of these items.",
                        "Ask whether these labels were known.",
                        labels=(tuple(labels),),
                    )
                )
        for pair in [pair for pair in self.pairs if pair.share < pair.by_chance][:_MOST_PAIRS]:
            first, second = (quote_value(self.names[n]) for n in (pair.first, pair.second))
            found.append(
                Finding(
                    "annotators_disagree",
                    f"{first} and {second} agree on {pair.share:.0%} of the "
                    f"{plural(pair.n_common, 'item')} that both answered, no more than if they had "
                    f"not looked ({pair.by_chance:.0%}).",
                )
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return it in types that JSON has."""
        annotators = [
            {
                "annotator": name,
                "answers": one.n_answers,
                "accuracy": one.accuracy._asdict(),
                "knows": one.knows._asdict(),
                "information": one.tells,
                "at_random": one.is_random,
                "never_says": [self.labels[column] for column in one.never],
            }
            for name, one in zip(self.names, self.quality, strict=True)
        ]
        pairs = [
            {
                "annotators": [self.names[pair.first], self.names[pair.second]],
                "items": pair.n_common,
                "agree": pair.share,
                "by_chance": pair.by_chance,
            }
            for pair in self.pairs[:_PAIRS_IN_JSON]
        ]
        return {"annotators": annotators, "least_agreement": pairs}


def _is_told(one: AnnotatorQuality) -> bool:
    return one.accuracy.high - one.accuracy.low <= _WIDEST
