"""Pictures of graphs and logical plans.

`layers` and `spread` place boxes, and `layout` puts them together.  `picture` has the common parts of all
pictures: `svg` draws a graph, `logical_svg` a logical plan, and `page` puts the latter into an HTML page.

The method is that of Sugiyama, Tagawa and Toda (1981): boxes are assigned to layers, each below all of its
inputs; an edge over several layers gets a bend in each layer in between; each layer is ordered by the
positions of neighbours, which removes most crossings; then boxes are moved as close to the middle of their
neighbours as possible without overlapping. Ties are resolved by the order of the input, so equal graphs have
equal pictures.
"""

from fsql.compiler.explain.drawing.logical_svg import logical_svg
from fsql.compiler.explain.drawing.page import logical_html
from fsql.compiler.explain.drawing.svg import graph_svg

__all__ = ["graph_svg", "logical_html", "logical_svg"]
