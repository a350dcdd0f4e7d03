"""NCPD: Network Cooperation with Progressive Disambiguation, one file for every idea of the paper."""
