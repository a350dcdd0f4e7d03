"""NCPD: Network Cooperation with Progressive Disambiguation, one file for each idea."""
