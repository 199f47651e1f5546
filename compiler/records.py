"""Dataclasses that are quick to define.

`dataclasses.dataclass` compiles up to eight methods of each class when the class is defined, in 0.3 ms of the
processor.  A command defines some 400 such classes, and makes instances of a quarter of them.  With
`dataclass` of this module, `__init__` is compiled when the first instance is made, and the other methods are
closures over the names of the fields: a definition takes a fifth of the time
(`docs/decisions/0071-commands-import-what-they-need.md`).

Classes mean what they mean with the standard library, whose `field`, `fields` and `replace` work with them.
The arguments that nothing here uses are left out: `order`, `unsafe_hash`, `kw_only`, `match_args`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # to the type checker, the classes are those of the standard library
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - exported
else:
    import dataclasses
    from reprlib import recursive_repr

    def dataclass(kind=None, /, *, eq=True, frozen=False, slots=False):
        """Return the class as a dataclass; the arguments are those of the standard library."""

        def define(kind):
            return _define(kind, eq, frozen, slots)

        return define if kind is None else define(kind)

    def _define(kind, eq, frozen, slots):
        defined = kind.__dict__
        own = {name for name in ("__init__", "__repr__", "__eq__") if name in defined}
        own_hash = "__hash__" in defined and not ("__eq__" in own and defined["__hash__"] is None)
        if kind.__doc__ is None:
            kind.__doc__ = kind.__name__  # the standard library would derive a signature for it
        kind = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(kind)
        fields = dataclasses.fields(kind)
        if "__init__" not in own:
            kind.__init__ = _first_init(kind, frozen, slots)
        if "__repr__" not in own:
            kind.__repr__ = _repr_of([field.name for field in fields if field.repr])
        if eq:
            values = _values_of([field.name for field in fields if field.compare])
            if "__eq__" not in own:
                kind.__eq__ = _eq_by(values)
            if not own_hash:
                kind.__hash__ = _hash_by(values) if frozen else None
        if frozen:
            names = frozenset(field.name for field in fields)
            kind.__setattr__ = _refuse_assignment(kind, names)
            kind.__delattr__ = _refuse_deletion(kind, names)
            if slots and "__getstate__" not in defined:
                kind.__getstate__, kind.__setstate__ = _get_state, _set_state
        return kind

    def _first_init(kind, frozen, slots):
        """Return an `__init__` that replaces itself by one that is compiled for the fields."""

        def __init__(self, *args, **kwargs):  # noqa: N807
            kind.__init__ = _compiled_init(kind, frozen, slots)
            kind.__init__(self, *args, **kwargs)

        return __init__

    def _compiled_init(kind, frozen, slots):
        namespace = {"__annotations__": {}}
        for field in dataclasses.fields(kind):
            namespace["__annotations__"][field.name] = object
            namespace[field.name] = dataclasses.field(
                default=field.default,
                default_factory=field.default_factory,
                init=field.init,
            )
        if hasattr(kind, "__post_init__"):
            namespace["__post_init__"] = kind.__post_init__
        namespace["__doc__"] = kind.__doc__
        fields_only = type(kind.__name__, (), namespace)
        make = dataclasses.dataclass(repr=False, eq=False, frozen=frozen, slots=slots)
        init = make(fields_only).__init__
        init.__qualname__ = f"{kind.__qualname__}.__init__"
        return init

    def _values_of(names):
        """Return a function from an object to the tuple of its values with these names."""

        def values(self):
            return tuple([getattr(self, name) for name in names])

        return values

    def _eq_by(values):
        def __eq__(self, other):  # noqa: N807
            if other.__class__ is self.__class__:
                return values(self) == values(other)
            return NotImplemented

        return __eq__

    def _hash_by(values):
        def __hash__(self):  # noqa: N807
            return values(self).__hash__()

        return __hash__

    def _repr_of(names):
        @recursive_repr()
        def __repr__(self):  # noqa: N807
            values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
            return f"{self.__class__.__qualname__}({values})"

        return __repr__

    def _refuse_assignment(kind, names):
        def __setattr__(self, name, value):  # noqa: N807
            if type(self) is kind or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(kind, self).__setattr__(name, value)

        return __setattr__

    def _refuse_deletion(kind, names):
        def __delattr__(self, name):  # noqa: N807
            if type(self) is kind or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(kind, self).__delattr__(name)

        return __delattr__

    def _get_state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _set_state(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)
