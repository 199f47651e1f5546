"""Interned records: the nodes of expressions and plans.

A node is a frozen dataclass whose class is made by `Interned`.  Two nodes of the same class with the
same fields *are* the same object, so equality is identity, common subplans are shared without a search, and a
memo can be keyed on the node.  Nodes therefore carry no source spans: the binder keeps those separately.

Fields are kept apart by type as well as by value (`1`, `True` and `1.0` are three literals, and `0.0`
and `-0.0` are two), because they would otherwise hash alike and be merged by mistake.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NodeT = TypeVar("_NodeT", bound="Node")
_TABLE: weakref.WeakValueDictionary[tuple[object, ...], Any] = weakref.WeakValueDictionary()


def _identity(value: object) -> object:
    """Return a hashable key for a field, which no value of another type is equal to."""
    if isinstance(value, tuple):
        return tuple(_identity(item) for item in value)
    if isinstance(value, Node):
        return value
    if isinstance(value, float):
        return (float, repr(value))
    return (type(value), value)


class Interned(abc.ABCMeta):
    """Metaclass: constructing an equal node returns the one that exists."""

    # Nodes have no virtual subclasses; the check of `ABCMeta` for those takes most of the time of a pass.
    __instancecheck__ = type.__instancecheck__

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any constructor
        """Return the node with these fields, made once."""
        made = super().__call__(*args, **kwargs)
        key = (cls, *(_identity(getattr(made, name)) for name in _field_names(cls)))
        return _TABLE.setdefault(key, made)


@dataclass(frozen=True, eq=False)
class Node(metaclass=Interned):
    """The base of every interned record; compare nodes with `is`."""

    @functools.cached_property
    def _children(self) -> tuple[Node, ...]:
        return tuple(_nodes_in(tuple(getattr(self, name) for name in _field_names(type(self)))))


@functools.cache
def _field_names(kind: type) -> tuple[str, ...]:
    # Looked up for every node that is made or walked over; `dataclasses.fields` builds it each time.
    return tuple(field.name for field in dataclasses.fields(kind))


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below `node`, in field order, also those in tuples."""
    return node._children  # noqa: SLF001 - kept by the node, since each pass asks for it


def _nodes_in(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)


def walk(node: Node) -> Iterator[Node]:
    """Yield every node reachable from `node`, each once, children before parents."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(node, False)]
    while stack:
        current, expanded = stack.pop()
        if expanded:
            yield current
        elif id(current) not in seen:
            seen.add(id(current))
            stack.append((current, True))
            stack.extend((child, False) for child in reversed(children(current)))


def map_children(node: _NodeT, change: Callable[[Node], Node]) -> _NodeT:
    """Return `node` with each direct child replaced by `change(child)`; itself if none changed."""

    def rebuild(value: object) -> object:
        if isinstance(value, Node):
            return change(value)
        if isinstance(value, tuple):
            return tuple(map(rebuild, value))
        return value

    return type(node)(*(rebuild(getattr(node, name)) for name in _field_names(type(node))))
