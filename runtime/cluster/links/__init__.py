"""Links: items between two nodes, once and in order, over a network that loses, repeats and alters frames."""
