"""The studies of the NCPD paper, one TOML file each, and the figures that it prints."""
