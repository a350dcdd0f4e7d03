"""
A column of text
================

Messages to a shop are sorted by topic. Two people who read them in a hurry could not agree, so many
messages have two candidate topics. The words are features, and nothing has to be prepared.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from disambig import fit_table

PARTS = {
    "delivery": ["the parcel is late", "my parcel arrived broken", "the driver did not ring",
                 "nobody delivered it on Monday", "it was left at the wrong door"],
    "billing": ["the invoice is wrong", "I was charged twice", "my card was refused",
                "there is no tax on the bill", "the discount is missing"],
    "account": ["I cannot log in", "the password mail never came", "my address must be changed",
                "please delete my profile", "the app shows another name"],
}  # fmt: skip
ENDINGS = ["please help", "this is the second time", "what shall I do now", "I still wait", ""]
generator = np.random.default_rng(0)


def messages(n_rows):
    """Return messages of two sentences and a polite end, and their topics."""
    topics = generator.choice(list(PARTS), n_rows)
    texts = [". ".join([*generator.choice(PARTS[t], 2), generator.choice(ENDINGS)]) for t in topics]
    return pd.DataFrame({"message": texts, "topic": topics})


table, new = messages(150), messages(300)

# %%
# In two rows of three somebody has added a wrong topic.

wrong = [generator.choice([other for other in PARTS if other != topic]) for topic in table["topic"]]
unsure = generator.random(len(table)) < 2 / 3
table["label"] = np.where(unsure, table["topic"] + "|" + wrong, table["topic"])
print(table[["message", "label"]].head(3).to_string(index=False))

# %%
# The column is recognised as text. The true topics are given for the report alone.

model = fit_table(table, method="em", truth="topic", n_folds=0)
print(model.plan.by_kind())

# %%
# A linear model on words can be read: these terms speak most for each topic.

features = model.transformer.texts["message"]
words = features.kinds[0].terms
weights = model.classifier.coef_[:, : len(words)]
figure, all_axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
for axes, topic, of_topic in zip(all_axes, model.classes, weights, strict=True):
    best = np.argsort(of_topic)[-6:]
    axes.barh([words[place] for place in best], of_topic[best], color="C0")
    axes.set(title=topic, xlabel="weight")

# %%
# New messages get their topic.

predicted = model.predict(new)["predicted_label"]
print(f"{(predicted == new['topic']).mean():.3f} of {len(new)} new messages are right")
