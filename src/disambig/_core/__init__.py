"""What every layer stands on: errors, parameters, files, messages, fingerprints."""
