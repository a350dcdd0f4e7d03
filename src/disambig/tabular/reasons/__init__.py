"""Why a label: similar rows whose labels are sure, and where values lie among those of a label."""
