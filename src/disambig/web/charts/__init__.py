"""Charts as plain SVG, coloured by the style of the page."""
