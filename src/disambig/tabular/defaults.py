"""What is done unless somebody says otherwise; the help of the commands shows it."""

DEFAULT_METHOD = "auto"
# Of tables that stay on disk.
DEFAULT_ON_DISK = "ncpd"
# Models that judge the rows that they were not trained on.
DEFAULT_FOLDS = 5
# Share of the expected errors that a second look is to find.
DEFAULT_ERRORS_TO_FIND = 0.9
# Doubtful rows on a page.
DEFAULT_ROWS_SHOWN = 10_000
# That a person takes for a doubtful row, where no answers of theirs say how long they take.
SECONDS_PER_ANSWER = 5
# Share of the groups for which a promise is believed, as in CandidateLabels.with_groups.
DEFAULT_PROMISE_STRENGTH = 0.9
# Where a frame, in its attrs, keeps what was between the cells of its file, if that is unusual.
DELIMITER = "delimiter"
# And where frames of a table on disk keep the types that its columns have in Arrow.
ARROW_TYPES = "arrow_types"
