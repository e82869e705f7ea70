"""Topics: what there is, and what goes over them."""
