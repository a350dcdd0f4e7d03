"""What is looked at in a browser: reports in one file, and the page to settle doubtful rows."""
