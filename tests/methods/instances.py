"""The one table of methods under test: name -> an instance that is quick on a hundred rows."""

from disambig.methods import (
    PLKNN,
    AverageClassifier,
    NCPDClassifier,
    OracleClassifier,
    RandomCandidateClassifier,
)

INSTANCES = {
    "average": AverageClassifier(),
    "ncpd": NCPDClassifier(hidden=32, epochs=40, ramp_epochs=20, batch_size=32, random_state=0),
    "oracle": OracleClassifier(),
    "plknn": PLKNN(n_neighbors=5),
    "random_candidate": RandomCandidateClassifier(random_state=0),
}
