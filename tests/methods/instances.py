"""The one table of methods under test: name -> an instance that is quick on a hundred rows."""

from disambig.methods import (
    PLKNN,
    AverageClassifier,
    OracleClassifier,
    RandomCandidateClassifier,
)

INSTANCES = {
    "average": AverageClassifier(),
    "oracle": OracleClassifier(),
    "plknn": PLKNN(n_neighbors=5),
    "random_candidate": RandomCandidateClassifier(random_state=0),
}
