"""Different kinds of learners on one table, weighed by candidate sets that they have not seen."""
