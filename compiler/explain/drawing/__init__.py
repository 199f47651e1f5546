"""Pictures of graphs and logical plans.

`layers` and `spread` place boxes, and `layout` puts them together.  `picture` has what all pictures share:
`svg` draws a graph, `logical_svg` a logical plan, and `page` puts the latter into an HTML page.

The method is that of Sugiyama, Tagawa and Toda (1981): boxes go into layers, each below all that it
reads; an edge over several layers gets a bend in each layer between; each layer is ordered by where its
neighbours are, which removes most crossings; then boxes move as near to the middle of their
neighbours as they can without touching.  Ties follow the order of the input, so equal graphs look alike.
"""

from fsql.compiler.explain.drawing.logical_svg import logical_svg
from fsql.compiler.explain.drawing.page import logical_html
from fsql.compiler.explain.drawing.svg import graph_svg

__all__ = ["graph_svg", "logical_html", "logical_svg"]
