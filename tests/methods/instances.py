"""The one table of methods under test: name -> an instance that is quick on a hundred rows."""

from disambig.methods import (
    ABSGCE,
    ABSMAE,
    AGGD,
    ALIM,
    CAVL,
    CC,
    CLPL,
    CRDPLL,
    DIRK,
    IPAL,
    LSBCMM,
    LWS,
    M3PL,
    PLKNN,
    PLSVM,
    POP,
    PRODEN,
    RC,
    RECORDS,
    SURE,
    VALEN,
    AutoDisambiguator,
    AverageClassifier,
    ConformalCleaning,
    CroSel,
    DisambiguatingBoosting,
    DisambiguatingClassifier,
    DisambiguatingForest,
    EMClassifier,
    NCPDClassifier,
    NCPDPlusClassifier,
    OracleClassifier,
    PaPi,
    PiCO,
    RandomCandidateClassifier,
    SoLar,
)

INSTANCES = {
    "abs_gce": ABSGCE(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "abs_mae": ABSMAE(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "aggd": AGGD(n_neighbors=5, max_iter=3),
    "alim": ALIM(
        hidden=16, epochs=12, start_epoch=4, batch_size=64, learning_rate=0.02, random_state=0
    ),
    "auto": AutoDisambiguator(learners=["em", "disambiguating"], random_state=0),
    "average": AverageClassifier(),
    "boosting": DisambiguatingBoosting(n_trees=10, min_samples_leaf=3, rounds=2, random_state=0),
    "cavl": CAVL(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "cc": CC(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "clpl": CLPL(),
    "crdpll": CRDPLL(
        ramp_epochs=6, hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0
    ),
    "conformal_cleaning": ConformalCleaning(
        hidden=16, epochs=12, warm_up_epochs=4, batch_size=64, learning_rate=0.02, random_state=0
    ),
    "crosel": CroSel(
        hidden=16, epochs=12, warm_up_epochs=4, batch_size=64, learning_rate=0.02, random_state=0
    ),
    "dirk": DIRK(
        average=0.9, hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0
    ),
    "disambiguating": DisambiguatingClassifier(rounds=2, n_folds=3, random_state=0),
    "em": EMClassifier(),
    "forest": DisambiguatingForest(rounds=3, ramp_rounds=2, trees_per_round=20, random_state=0),
    "ipal": IPAL(n_neighbors=5),
    "lsbcmm": LSBCMM(max_iter=20),
    "lws": LWS(
        loss="cross_entropy",
        hidden=16,
        epochs=12,
        batch_size=64,
        learning_rate=0.02,
        random_state=0,
    ),
    "m3pl": M3PL(growth=3.0),
    "ncpd": NCPDClassifier(
        hidden=16, epochs=15, ramp_epochs=7, batch_size=64, learning_rate=0.02, random_state=0
    ),
    "ncpd_plus": NCPDPlusClassifier(
        hidden=16, epochs=6, batch_size=128, learning_rate=0.05, random_state=0
    ),
    "oracle": OracleClassifier(),
    "papi": PaPi(
        hidden=16, epochs=12, batch_size=64, learning_rate=0.02, embedding_width=8, random_state=0
    ),
    "pico": PiCO(
        hidden=16, epochs=12, batch_size=64, learning_rate=0.02, embedding_width=8, random_state=0
    ),
    "plknn": PLKNN(n_neighbors=5),
    "plsvm": PLSVM(max_iter=100, random_state=0),
    "pop": POP(
        warmup_epochs=4,
        window=2,
        hidden=16,
        epochs=12,
        batch_size=64,
        learning_rate=0.02,
        random_state=0,
    ),
    "proden": PRODEN(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "random_candidate": RandomCandidateClassifier(random_state=0),
    "rc": RC(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "records": RECORDS(hidden=16, epochs=12, batch_size=64, learning_rate=0.02, random_state=0),
    "solar": SoLar(
        hidden=16,
        epochs=12,
        warm_up_epochs=4,
        batch_size=64,
        learning_rate=0.02,
        random_state=0,
    ),
    "sure": SURE(max_iter=20),
    "valen": VALEN(
        hidden=16, epochs=12, warmup_epochs=2, batch_size=32, learning_rate=0.02, random_state=0
    ),
}
