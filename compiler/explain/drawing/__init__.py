"""A graph as a picture: `layers` and `spread` place boxes, `layout` puts them together, `svg` draws.

The method is that of Sugiyama, Tagawa and Toda (1981): boxes go into layers, each below all that it
reads; an edge over several layers gets a bend in each layer between; each layer is ordered by where its
neighbours are, which removes most crossings; then boxes move as near to the middle of their
neighbours as they can without touching.  Ties go by the order of the input, so equal graphs look alike.
"""

from fsql.compiler.explain.drawing.svg import graph_svg

__all__ = ["graph_svg"]
