"""Text to graph: grammar, syntax, types, binder, rules, logical plan, lowering, graph, tick plan."""
