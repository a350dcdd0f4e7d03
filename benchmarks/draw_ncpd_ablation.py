"""Draw docs/results/ncpd_ablation.png from the curves that ncpd_accuracy.py measured.

python benchmarks/draw_ncpd_ablation.py
"""

import matplotlib as mpl
import pandas as pd
from matplotlib import pyplot as plt

from disambig._core.files import written_atomically
from results_page import FOLDER

mpl.use("agg")
# Told apart by colour and by dash, for every eye and for paper.
STYLES = {"NCPD": ("#0b5fa5", "-"), "w/o NC": ("#c8501e", "--"), "w/o PD": ("#4d7c26", ":")}


def main() -> None:
    """Draw."""
    curves = pd.read_csv(FOLDER / "ncpd_ablation.csv", index_col="epoch")
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for name, (color, dash) in STYLES.items():
        label = f"{name}: {curves[name].iloc[-1]:.3f} at the end"
        axes.plot(curves.index, curves[name], dash, color=color, label=label, linewidth=1.6)
    axes.legend(loc="lower right", frameon=False)
    axes.set(xlabel="epoch", ylabel="held-out accuracy", xlim=(1, curves.index[-1]))
    axes.set_title("MSRCv2: mean over 10 folds x 2 fold seeds", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    with written_atomically(FOLDER / "ncpd_ablation.png") as temporary:
        figure.savefig(temporary, dpi=160)


if __name__ == "__main__":
    main()
