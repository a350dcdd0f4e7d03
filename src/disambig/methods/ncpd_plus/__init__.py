"""NCPD+: NCPD with noisy inputs, several views, class shares held in place, and a chosen mix."""
